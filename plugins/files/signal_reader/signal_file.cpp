// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <sluice/staged_file.hpp>

namespace sluice::signal_reader {
namespace {

constexpr std::string_view blow5_end = "5WOLB";
// No header is larger: slow5tools-merged files of thousands of runs stay below 20 MB.
constexpr std::size_t max_header_bytes = std::size_t{1} << 30;
constexpr std::size_t cursor_buffer_bytes = std::size_t{1} << 20;
// Who skips what lies between the beginnings of records would wait for every one of them: no read is where the kernel expects the next. So it is
// asked for all of the file, so far ahead, in pieces that it takes at once (its limit is 512 KiB or more).
constexpr std::uint64_t read_ahead_bytes = std::uint64_t{8} << 20, read_ahead_piece = std::uint64_t{512} << 10;

std::string system_text() { return std::strerror(errno); }

// May the user of this program write into the folder? A folder whose mode has no write bit at all is left alone even by root, who could.
bool may_write_into(const std::filesystem::path& folder) {
  struct stat info {};
  const char* name = folder.empty() ? "." : folder.c_str();
  return ::stat(name, &info) == 0 && (info.st_mode & 0222U) != 0 && ::access(name, W_OK) == 0;
}

bool newer(const struct timespec& a, const struct timespec& b) { return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec; }

}  // namespace

SignalFile::SignalFile(std::string path) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_.number < 0)
    throw Failure::input("cannot open signal file '" + path_ + "': " + system_text(), "check the path of the BLOW5 or SLOW5 file");
  struct stat info {};
  if (::fstat(file_.number, &info) != 0 || S_ISDIR(info.st_mode))
    fail("is not a file", "give one BLOW5 or SLOW5 file; `slow5tools merge` joins many");
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  if (file_bytes == 0) fail("is empty");
  std::vector<char> start;
  std::string problem;
  HeaderStatus status = HeaderStatus::incomplete;
  for (std::size_t want = 64 * 1024; status == HeaderStatus::incomplete; want *= 4) {
    start.resize(static_cast<std::size_t>(std::min<std::uint64_t>(want, file_bytes)));
    start.resize(read_bytes(0, start.data(), start.size()));
    status = parse_header(start, header_, problem);
    if (status == HeaderStatus::incomplete && (start.size() == file_bytes || want >= max_header_bytes))
      fail("is truncated or damaged: its header does not end", "copy the file again and compare checksums");
  }
  if (status == HeaderStatus::not_slow5)
    fail("is not a SLOW5 or BLOW5 file: " + problem, "convert FAST5 with `slow5tools f2s`, POD5 with `blue-crab p2s`");
  if (status == HeaderStatus::unsupported) fail("cannot be read: " + problem, "convert it with `slow5tools view -c zlib -s svb-zd`");
  if (status == HeaderStatus::malformed) fail("is damaged: " + problem, "copy the file again and compare checksums");
  extent_ = {header_.first_record, file_bytes};
  if (header_.records.format == FileFormat::slow5) return;
  char end[5] = {};
  const bool complete = file_bytes >= header_.first_record + blow5_end.size() &&
                        read_bytes(file_bytes - blow5_end.size(), end, blow5_end.size()) == blow5_end.size() &&
                        std::string_view(end, blow5_end.size()) == blow5_end;
  if (complete) {
    extent_.end = file_bytes - blow5_end.size();
    return;
  }
  std::uint64_t records = 0;
  std::uint64_t offset = extent_.begin;
  std::uint64_t bytes = 0;
  while (offset + 8 <= file_bytes && read_bytes(offset, reinterpret_cast<char*>(&bytes), 8) == 8 && bytes <= file_bytes - offset - 8) {
    ++records;
    offset += 8 + bytes;
  }
  fail("is truncated: it has no end-of-file mark, and ends inside the record after " + std::to_string(records) + " complete ones",
       "copy the file again, or save what is whole with `slow5tools skim` and `slow5tools get`");
}

FileDescriptor::~FileDescriptor() {
  if (number >= 0) ::close(number);
}

void SignalFile::fail(const std::string& what, std::string remedy) const {
  throw Failure::input("signal file '" + path_ + "' " + what, std::move(remedy));
}

std::size_t SignalFile::read_bytes(std::uint64_t offset, char* to, std::size_t bytes) const {
  std::size_t got = 0;
  while (got < bytes) {
    const ssize_t part = ::pread(file_.number, to + got, bytes - got, static_cast<off_t>(offset + got));
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) fail("cannot be read: " + system_text());
    if (part == 0) break;
    got += static_cast<std::size_t>(part);
  }
  return got;
}

std::size_t SignalFile::stored_bytes(const Slow5Header& header, RecordPlace place) {
  return static_cast<std::size_t>(place.bytes) - (header.records.format == FileFormat::blow5 ? 8 : 1);
}

void SignalFile::read(RecordPlace place, char* stored) const {
  const char* const remedy = "remove the .idx file beside it: it was made from another file, and is made anew when missing";
  const std::size_t bytes = stored_bytes(header_, place);
  if (header_.records.format == FileFormat::slow5) {
    if (read_bytes(place.offset, stored, bytes) != bytes) fail("is shorter than its index says", remedy);
    return;
  }
  std::uint64_t size = 0;
  if (read_bytes(place.offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size != bytes ||
      read_bytes(place.offset + 8, stored, bytes) != bytes)
    fail("has no record of " + std::to_string(bytes) + " bytes at byte " + std::to_string(place.offset) + ", where its index says", remedy);
}

bool SignalFile::read_if_there(RecordPlace place, std::vector<char>& stored) const {
  const bool is_text = header_.records.format == FileFormat::slow5;
  const std::uint64_t before = is_text ? 0 : 8;
  if (place.offset < extent_.begin || place.offset > extent_.end || place.bytes < 8 || place.bytes > extent_.end - place.offset) return false;
  const std::size_t bytes = stored_bytes(header_, place);
  std::uint64_t size = 0;
  if (!is_text && (read_bytes(place.offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size != bytes)) return false;
  stored.resize(bytes);
  return read_bytes(place.offset + before, stored.data(), bytes) == bytes;
}

void SignalFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
  static_cast<void>(::posix_fadvise(file_.number, static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
}

RecordPlace SignalFile::place_at(std::uint64_t offset) const {
  if (offset == extent_.end) return {offset, 0};
  std::uint64_t size = 0;
  if (extent_.end - offset < 8 || read_bytes(offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size > extent_.end - offset - 8)
    fail("is damaged: the record at byte " + std::to_string(offset) + " says it is longer than the file",
         "copy the file again and compare checksums");
  return {offset, size + 8};
}

bool RecordCursor::fill(std::size_t bytes) {
  if (filled_ - used_ >= bytes) return true;
  if (filled_ != used_ && used_ != 0) std::memmove(buffer_.data(), buffer_.data() + used_, filled_ - used_);
  filled_ -= used_;
  used_ = 0;
  if (buffer_.size() < bytes) buffer_.resize(std::max(bytes, std::max(cursor_buffer_bytes, std::min(buffer_.size() * 2, bytes * 2))));
  const std::uint64_t from = offset_ + filled_;
  const std::uint64_t left = file_.extent().end - from;
  const std::size_t most = beginnings_ ? std::min(std::max(bytes, usual_bytes_), buffer_.size()) - filled_ : buffer_.size() - filled_;
  filled_ += file_.read_bytes(from, buffer_.data() + filled_, static_cast<std::size_t>(std::min<std::uint64_t>(left, most)));
  return filled_ >= bytes;
}

void RecordCursor::skip_last() {
  beginnings_ = last_asked_ < last_.bytes / 2;
  usual_bytes_ = std::max(last_asked_, usual_bytes_ - usual_bytes_ / 8);
  last_asked_ = 0;
  offset_ += last_.bytes;
  if (last_.bytes > filled_ - used_) {
    used_ = filled_ = 0;
  } else {
    used_ += static_cast<std::size_t>(last_.bytes);
  }
  last_ = {};
  if (!beginnings_) return;
  read_ahead_ = std::max(read_ahead_, offset_);
  for (const std::uint64_t until = std::min(offset_ + read_ahead_bytes, file_.extent().end); read_ahead_ < until; read_ahead_ += read_ahead_piece)
    file_.will_need(read_ahead_, read_ahead_piece);
}

Failure RecordCursor::damaged(const char* what) const {
  return Failure::input("signal file '" + file_.path() + "' " + what + " record " + std::to_string(records_),
                        "copy the file again and compare checksums");
}

bool RecordCursor::next(std::span<const char>& stored, RecordPlace& place) {
  if (!next_beginning(0, stored, place)) return false;
  if (place.bytes != 0) stored = beginning(SignalFile::stored_bytes(file_.header(), place));
  return true;
}

bool RecordCursor::next_beginning(std::size_t bytes, std::span<const char>& stored, RecordPlace& place) {
  skip_last();
  const std::uint64_t end = file_.extent().end;
  if (offset_ == end) return false;
  ++records_;
  if (file_.header().records.format == FileFormat::blow5) {
    std::uint64_t size = 0;
    if (end - offset_ < 8 || !fill(8)) throw damaged("is truncated in");
    std::memcpy(&size, buffer_.data() + used_, sizeof size);
    if (size > end - offset_ - 8) throw damaged("is damaged: longer than the file is");
    place = {offset_, size + 8};
  } else {
    std::size_t seen = 0;
    while (true) {
      const void* newline = filled_ - used_ > seen ? std::memchr(buffer_.data() + used_ + seen, '\n', filled_ - used_ - seen) : nullptr;
      if (newline != nullptr) {
        const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - (buffer_.data() + used_));
        place = {offset_, length + 1};
        break;
      }
      seen = filled_ - used_;
      if (offset_ + seen >= end || !fill(std::max(seen + 1, std::min<std::size_t>(seen * 2, static_cast<std::size_t>(end - offset_)))))
        throw damaged("is truncated: it ends without a newline in");
    }
  }
  last_ = place;
  stored = beginning(bytes);
  return true;
}

std::span<const char> RecordCursor::beginning(std::size_t bytes) {
  const std::size_t all = SignalFile::stored_bytes(file_.header(), last_);
  const bool is_text = file_.header().records.format == FileFormat::slow5;
  const std::size_t given = is_text ? all : std::min(bytes, all);
  const std::size_t size_field = is_text ? 0 : 8;
  last_asked_ = std::max(last_asked_, size_field + given);
  if (!fill(size_field + given)) throw damaged("is damaged: longer than the file is");
  return {buffer_.data() + used_ + size_field, given};
}

BuiltIndex build_index(const SignalFile& file, const ParallelLoop& parallel) {
  BuiltIndex built;
  const RecordFormat format = file.header().records;
  const auto damaged = [&file](std::uint64_t record) {
    return Failure::input("signal file '" + file.path() + "' is damaged: record " + std::to_string(record) + " cannot be decompressed or parsed",
                          "copy the file again and compare checksums");
  };
  const auto add = [&built](std::string_view read_id, RecordPlace place) {
    if (built.index.add(read_id, place) == SignalIndex::Added::duplicate) ++built.duplicates;
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
  parallel(places.size(), [&](std::size_t begin, std::size_t end) {
    RecordDecoder decoder;
    std::vector<char> stored;
    SignalRecord record;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t all = SignalFile::stored_bytes(file.header(), places[i]);
      RecordStatus status = RecordStatus::incomplete;
      // The name is in the first bytes; zstd needs its whole first block (128 KiB at most) to yield them.
      for (const std::size_t want : {std::size_t{4096}, std::size_t{140 * 1024}, all}) {
        stored.resize(std::min(want, all));
        stored.resize(file.read_bytes(places[i].offset + 8, stored.data(), stored.size()));
        status = decoder.decode_fields(stored, format, record);
        if (status != RecordStatus::incomplete) break;
      }
      if (status == RecordStatus::ok) {
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
      source.action = IndexSource::Action::loaded;
      return index;
    }
    source.reason = status == IndexStatus::other_file  ? "the one beside the file was made from another file"
                    : status == IndexStatus::truncated ? "the one beside the file is truncated"
                                                       : "the one beside the file is damaged";
  }
  BuiltIndex built = build_index(file, parallel);
  source.duplicates = built.duplicates;
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
