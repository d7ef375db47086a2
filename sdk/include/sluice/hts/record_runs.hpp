// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sorted runs of BAM records on the disk, in compressed blocks. The user links libzstd.

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <sluice/allocated.hpp>
#include <sluice/call.hpp>
#include <sluice/failure.hpp>
#include <sluice/spill_file.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::hts {

// Records as they stand in a BAM file: four bytes of length, then so many.
inline std::size_t bam_record_bytes(const char* record) {
  std::uint32_t length = 0;
  std::memcpy(&length, record, sizeof length);
  return length + sizeof length;
}

// What `samtools sort` sorts by: contig (none: last), position, strand. Records of one key stay in the order of the input.
inline std::uint64_t coordinate_key(std::string_view record) {
  std::int32_t contig = 0, position = 0;
  std::uint16_t flag = 0;
  std::memcpy(&contig, record.data() + 4, sizeof contig);
  std::memcpy(&position, record.data() + 8, sizeof position);
  std::memcpy(&flag, record.data() + 18, sizeof flag);
  constexpr std::uint16_t reverse = 16;
  const std::uint64_t place = static_cast<std::uint32_t>(position) + 1U;  // from -1 on
  return (static_cast<std::uint64_t>(contig) & 0x7FFFFFFFU) << 33 | place << 1 | ((flag & reverse) != 0 ? 1U : 0U);
}

struct RecordRun {
  struct Block {
    std::uint64_t begin;              // in the file
    std::uint32_t bytes, text_bytes;  // there, and of the records
  };
  std::vector<Block> blocks;
};

// Writes runs, block by block beside each other on the run's threads.
class RecordRunWriter {
 public:
  // A block holds about so many bytes of records, and one record at least.
  RecordRunWriter(SpillFile& file, std::size_t block_bytes) : file_(file), block_bytes_(block_bytes) {}

  // Appends `count` records to the run; record(i) is a string_view.
  template <class RecordAt>
  void append(const Call& call, std::size_t count, const RecordAt& record, RecordRun& run) {
    std::vector<std::size_t> ends;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bytes += record(i).size();
      if (bytes < block_bytes_ && i + 1 < count) continue;
      ends.push_back(i + 1);
      bytes = 0;
    }
    const std::size_t before = run.blocks.size();
    run.blocks.resize(before + ends.size());
    call.parallel_for(ends.size(), 1, [&](std::size_t begin, std::size_t end) {
      auto worker = workers_.take();
      for (std::size_t block = begin; block < end; ++block) {
        worker->text.clear();
        for (std::size_t i = block == 0 ? 0 : ends[block - 1]; i < ends[block]; ++i) worker->text += record(i);
        run.blocks[before + block] = write(*worker);
      }
    });
  }

 private:
  struct Worker {
    std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> compressor{allocated(ZSTD_createCCtx()), ZSTD_freeCCtx};
    std::string text, stored;
  };
  RecordRun::Block write(Worker& worker) {
    // Level 1: qualities and packed bases get their entropy, and little else would be found.
    constexpr int level = 1;
    if (!worker.compressor) throw std::bad_alloc();
    worker.stored.resize(ZSTD_compressBound(worker.text.size()));
    const std::size_t bytes =
        ZSTD_compressCCtx(worker.compressor.get(), worker.stored.data(), worker.stored.size(), worker.text.data(), worker.text.size(), level);
    if (ZSTD_isError(bytes) != 0) throw std::bad_alloc();
    const std::uint64_t begin = file_.append(std::string_view(worker.stored).substr(0, bytes));
    return {begin, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(worker.text.size())};
  }

  SpillFile& file_;
  std::size_t block_bytes_;
  Workspaces<Worker> workers_;
};

// The records of a run, one after the other.
class RecordRunReader {
 public:
  using Text = std::shared_ptr<const std::string>;
  RecordRunReader(const SpillFile& file, RecordRun run) : file_(file), run_(std::move(run)) {}

  // "" at the end. `inflater` and `stored` are working memory that readers share.
  std::string_view next(ZSTD_DCtx* inflater, std::string& stored) {
    if (!text_ || at_ == text_->size()) {
      text_.reset();
      at_ = 0;
      if (next_block_ == run_.blocks.size()) return {};
      text_ = load(run_.blocks[next_block_++], inflater, stored);
    }
    const std::size_t bytes = bam_record_bytes(text_->data() + at_);
    at_ += bytes;
    return std::string_view(*text_).substr(at_ - bytes, bytes);
  }
  // What the last record lies in.
  const Text& text() const { return text_; }

 private:
  Text load(const RecordRun::Block& block, ZSTD_DCtx* inflater, std::string& stored) const {
    stored.resize(block.bytes);
    file_.read(block.begin, stored.data(), block.bytes);
    file_.release(block.begin, block.bytes);
    std::string text(block.text_bytes, '\0');
    if (ZSTD_decompressDCtx(inflater, text.data(), text.size(), stored.data(), stored.size()) != text.size())
      throw Failure::output("records that were written to a temporary file are damaged", "is the disk or the memory faulty?");
    return std::make_shared<const std::string>(std::move(text));
  }

  const SpillFile& file_;
  RecordRun run_;
  std::size_t next_block_ = 0, at_ = 0;
  Text text_;
};

}  // namespace sluice::hts
