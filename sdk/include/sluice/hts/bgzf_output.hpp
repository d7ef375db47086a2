// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A BGZF file as the output of a sink: what its commit() adds is compressed on the run's threads.

#include <cstddef>
#include <cstdint>
#include <sluice/call.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::hts {

class BgzfOutput {
 public:
  explicit BgzfOutput(OutputFile file, int level = -1) : file_(std::move(file)), blocks_(level) {}

  BgzfWriter& blocks() { return blocks_; }
  const BgzfWriter& blocks() const { return blocks_; }
  // What the files of all parts of a run begin with: before all else.
  void header(std::string_view text) {
    file_.header(header_bytes_ = text.size());
    blocks_.add(text);
  }
  // Writes the finished blocks, when there are enough of them for all threads. True: it did.
  bool write(const Call& call) {
    if (blocks_.waiting() < BgzfWriter::worth_compressing) return false;
    write_blocks(call);
    return true;
  }
  // Writes all finished blocks before; afterwards their places are known.
  void save(const Call& call, StateWriter& to) {
    write_blocks(call);
    to.value(header_bytes_);
    blocks_.save(to);
  }
  // What has been added so far is dropped: it is in the file.
  void restore(StateReader& from) {
    file_.header(header_bytes_ = from.value<std::uint64_t>());
    blocks_.restore(from);
  }
  // Where the bytes of the file are while it is written.
  std::string path() const { return file_.path(); }
  // Writes the rest and closes the file.
  void finish(const Call& call) {
    bytes_.clear();
    blocks_.finish(bytes_, run_on(call));
    file_.write(bytes_);
    file_.close();
  }

 private:
  void write_blocks(const Call& call) {
    bytes_.clear();
    blocks_.compress(bytes_, run_on(call));
    file_.write(bytes_);
  }
  static BgzfWriter::Run run_on(const Call& call) {
    return [&call](std::size_t count, const auto& body) { call.parallel_for(count, 1, body); };
  }
  OutputFile file_;
  BgzfWriter blocks_;
  std::string bytes_;
  std::uint64_t header_bytes_ = 0;
};

}  // namespace sluice::hts
