// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Indexes of signal files: loaded or made.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <sluice/staged_file.hpp>
#include <utility>

#include "signal_reader/signal_file.hpp"

namespace sluice::signal_reader {
namespace {

// May the user of this program write into the folder? A folder whose mode has no write bit at all is left alone even by root, who could.
bool may_write_into(const std::filesystem::path& folder) {
  struct stat info {};
  const char* name = folder.empty() ? "." : folder.c_str();
  return ::stat(name, &info) == 0 && (info.st_mode & 0222U) != 0 && ::access(name, W_OK) == 0;
}

bool newer(const struct timespec& a, const struct timespec& b) { return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec; }

// The records that an index does not have. It is asked for them only if it has too few bytes.
void find_left_out(const SignalFile& file, const SignalIndex& index, RepeatedReads& repeated) {
  std::vector<std::uint64_t> known;
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    known.push_back(index.place(i).offset);
    covered += index.place(i).bytes;
  }
  if (covered == file.extent().end - file.extent().begin) return;
  std::sort(known.begin(), known.end());
  RecordCursor cursor(file);
  RecordDecoder decoder;
  std::vector<char> stored;
  RecordPlace place;
  SignalRecord record;
  while (cursor.next_place(place))
    if (!std::binary_search(known.begin(), known.end(), place.offset) && file.read_fields(place, decoder, stored, record) == RecordStatus::ok)
      repeated.add(record.read_id);
}

}  // namespace

BuiltIndex build_index(const SignalFile& file, const ParallelLoop& parallel, RepeatedReads repeated) {
  BuiltIndex built{{}, std::move(repeated)};
  const RecordFormat format = file.header().records;
  const auto damaged = [&file](std::uint64_t record) {
    return Failure::input("signal file '" + file.path() + "' is damaged: record " + std::to_string(record) + " cannot be decompressed or parsed",
                          "copy the file again and compare checksums");
  };
  const auto add = [&built](std::string_view read_id, RecordPlace place) {
    if (built.index.add(read_id, place) == SignalIndex::Added::duplicate) built.repeated.add(read_id);
  };
  if (format.format == FileFormat::slow5) {
    RecordCursor cursor(file);
    RecordDecoder decoder;
    std::span<const char> stored;
    RecordPlace place;
    SignalRecord record;
    while (cursor.next(stored, place)) {
      if (decoder.decode_fields(stored, format, record) != RecordStatus::ok) throw damaged(cursor.records());
      add(record.read_id, place);
    }
    return built;
  }
  std::vector<RecordPlace> places;
  for (RecordPlace place = file.place_at(file.extent().begin); place.bytes != 0; place = file.place_at(place.offset + place.bytes))
    places.push_back(place);
  std::vector<std::string> names(places.size());
  std::atomic<std::uint64_t> first_damaged = std::numeric_limits<std::uint64_t>::max();
  parallel(places.size(), 256, [&](std::size_t begin, std::size_t end) {
    RecordDecoder decoder;
    std::vector<char> stored;
    SignalRecord record;
    for (std::size_t i = begin; i < end; ++i) {
      if (file.read_fields(places[i], decoder, stored, record) == RecordStatus::ok) {
        names[i] = record.read_id;
      } else {
        std::uint64_t seen = first_damaged;
        while (i < seen && !first_damaged.compare_exchange_weak(seen, i)) {
        }
      }
    }
  });
  if (first_damaged != std::numeric_limits<std::uint64_t>::max()) throw damaged(first_damaged + 1);
  built.index.reserve(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) add(names[i], places[i]);
  return built;
}

SignalIndex load_or_build_index(const SignalFile& file, const ParallelLoop& parallel, IndexSource& source) {
  if (file.table() != nullptr) {  // its table of reads is at hand
    BuiltIndex built = build_index(file, parallel, std::move(source.repeated));
    source.repeated = std::move(built.repeated);
    return std::move(built.index);
  }
  const std::string path = file.path() + ".idx";
  struct stat index_info {
  }, file_info{};
  const bool exists = ::stat(path.c_str(), &index_info) == 0 && ::stat(file.path().c_str(), &file_info) == 0;
  if (!exists) {
    source.reason = "there is none";
  } else if (newer(file_info.st_mtim, index_info.st_mtim)) {
    source.reason = "the one beside the file is older than the file";
  } else {
    std::vector<char> bytes(static_cast<std::size_t>(index_info.st_size));
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::size_t got = 0;
    while (descriptor >= 0 && got < bytes.size()) {
      const ssize_t part = ::read(descriptor, bytes.data() + got, bytes.size() - got);
      if (part <= 0 && !(part < 0 && errno == EINTR)) break;
      if (part > 0) got += static_cast<std::size_t>(part);
    }
    if (descriptor >= 0) ::close(descriptor);
    SignalIndex index;
    const IndexStatus status = got == bytes.size() ? parse_index(bytes, file.extent(), index) : IndexStatus::truncated;
    if (status == IndexStatus::ok) {
      find_left_out(file, index, source.repeated);
      source.action = IndexSource::Action::loaded;
      return index;
    }
    source.reason = status == IndexStatus::other_file  ? "the one beside the file was made from another file"
                    : status == IndexStatus::truncated ? "the one beside the file is truncated"
                                                       : "the one beside the file is damaged";
  }
  BuiltIndex built = build_index(file, parallel, std::move(source.repeated));
  source.repeated = std::move(built.repeated);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!may_write_into(folder)) {
    source.action = IndexSource::Action::made_in_memory;
    source.reason += "; it is not kept because the folder cannot be written to";
    return std::move(built.index);
  }
  try {
    StagedFile staged(path);
    staged.write(serialise_index(built.index, file.header().version));
    staged.publish();
    source.action = IndexSource::Action::made;
  } catch (const Failure& failure) {
    source.action = IndexSource::Action::made_in_memory;
    source.reason += "; it is not kept: " + std::string(failure.what());
  }
  return std::move(built.index);
}

}  // namespace sluice::signal_reader
