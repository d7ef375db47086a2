// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_reader/signal_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "signal_reader/fast5_file.hpp"
#include "signal_reader/pod5_file.hpp"

namespace sluice::signal_reader {
namespace {

constexpr std::string_view blow5_end = "5WOLB";
// No header is larger: slow5tools-merged files of thousands of runs stay below 20 MB.
constexpr std::size_t max_header_bytes = std::size_t{1} << 30;
// What is looked through for ends of lines at a time.
constexpr std::size_t text_block_bytes = std::size_t{1} << 20;
// In front of a BLOW5 record stands its size.
constexpr std::uint64_t size_field = 8;

std::string system_text() { return std::strerror(errno); }

}  // namespace

SignalFile::SignalFile(std::string path, Growth growth)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)), cached_(file_.number) {
  if (file_.number < 0) throw Failure::input("cannot open signal file '" + path_ + "': " + system_text(), "check the path of the signal file");
  struct stat info {};
  if (::fstat(file_.number, &info) != 0 || S_ISDIR(info.st_mode))
    fail("is not a file", "give one BLOW5, SLOW5, POD5 or FAST5 file; `slow5tools merge` joins many");
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  if (file_bytes == 0) fail("is empty");
  std::vector<char> start(static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, 8)));
  start.resize(read_bytes(0, start.data(), start.size()));
  if (begins_as_pod5(start)) {
    pod5_ = std::make_unique<Pod5File>(path_, file_.number);
    table_ = &pod5_->reads();
  } else if (begins_as_hdf5(start)) {
    fast5_ = std::make_unique<Fast5File>(path_, file_.number);
    table_ = &fast5_->reads();
    file_.close();
  }
  if (table_ != nullptr) {
    extent_ = {0, table_->bytes()};
    return;
  }
  std::string problem;
  HeaderStatus status = HeaderStatus::incomplete;
  for (std::size_t want = 64 * 1024; status == HeaderStatus::incomplete; want *= 4) {
    start.resize(static_cast<std::size_t>(std::min<std::uint64_t>(want, file_bytes)));
    start.resize(read_bytes(0, start.data(), start.size()));
    status = parse_header(start, header_, problem);
    if (status == HeaderStatus::incomplete && (start.size() == file_bytes || want >= max_header_bytes))
      fail("is truncated or damaged: its header does not end", "copy the file again and compare checksums");
  }
  if (status == HeaderStatus::not_slow5) fail("is not a SLOW5 or BLOW5 file: " + problem, "give BLOW5, SLOW5, POD5 or FAST5 files");
  if (status == HeaderStatus::unsupported) fail("cannot be read: " + problem, "convert it with `slow5tools view -c zlib -s svb-zd`");
  if (status == HeaderStatus::malformed) fail("is damaged: " + problem, "copy the file again and compare checksums");
  if (growth == Growth::possible) {
    extent_ = {header_.first_record, header_.first_record};
    extend();
    return;
  }
  extent_ = {header_.first_record, file_bytes};
  if (header_.records.format == FileFormat::slow5) return;
  if (file_bytes >= header_.first_record + blow5_end.size() && has_mark_at(file_bytes - blow5_end.size())) {
    extent_.end = file_bytes - blow5_end.size();
    return;
  }
  extent_.end = extent_.begin;
  extend();
  fail_truncated(records_);
}

void SignalFile::fail_truncated(std::uint64_t records) const {
  fail("is truncated: it has no end-of-file mark, and ends inside the record after " + std::to_string(records) + " complete ones",
       "copy the file again, or save what is whole with `slow5tools skim` and `slow5tools get`");
}

SignalFile::~SignalFile() = default;

bool SignalFile::has_mark_at(std::uint64_t offset) const {
  char end[blow5_end.size()] = {};
  return read_bytes(offset, end, blow5_end.size()) == blow5_end.size() && std::string_view(end, blow5_end.size()) == blow5_end;
}

const Slow5Header& SignalFile::header() const { return table_ != nullptr ? table_->header() : header_; }

std::uint64_t SignalFile::memory() const { return fast5_ ? sizeof *this + path_.size() + fast5_->reads().memory() : 0; }

std::uint64_t SignalFile::file_bytes() const {
  if (fast5_) return fast5_->file_bytes();
  struct stat info {};
  return ::fstat(file_.number, &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

void SignalFile::extend() {
  if (table_ != nullptr) return;
  const std::uint64_t all = file_bytes();
  if (header_.records.format == FileFormat::blow5) {
    std::uint64_t bytes = 0;
    while (extent_.end + size_field <= all && read_bytes(extent_.end, reinterpret_cast<char*>(&bytes), size_field) == size_field &&
           bytes <= all - extent_.end - size_field) {
      ++records_;
      extent_.end += size_field + bytes;
    }
    return;
  }
  std::vector<char> text;
  for (std::uint64_t end = all; end > extent_.end;) {
    const std::uint64_t begin = std::max(extent_.end, end - std::min<std::uint64_t>(end, text_block_bytes));
    text.resize(static_cast<std::size_t>(end - begin));
    text.resize(read_bytes(begin, text.data(), text.size()));
    if (const std::size_t newline = std::string_view(text.data(), text.size()).rfind('\n'); newline != std::string_view::npos) {
      extent_.end = begin + newline + 1;
      return;
    }
    end = begin;
  }
}

void SignalFile::check_end() const {
  if (table_ != nullptr) return;
  const std::uint64_t left = file_bytes() - std::min(file_bytes(), extent_.end);
  if (header_.records.format == FileFormat::slow5) {
    if (left > 0) fail("is truncated: it ends without a newline", "copy the file again and compare checksums");
  } else if (left != blow5_end.size() || !has_mark_at(extent_.end)) {
    fail_truncated(records_);
  }
}

void FileDescriptor::close() {
  if (number >= 0) ::close(std::exchange(number, -1));
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
  return static_cast<std::size_t>(place.bytes) - bytes_around(header.records.format);
}

std::size_t SignalFile::bytes_around(FileFormat format) {
  if (format == FileFormat::pod5 || format == FileFormat::fast5) return 0;
  return format == FileFormat::blow5 ? size_field : 1;
}

void SignalFile::read(RecordPlace place, char* stored) const {
  const char* const remedy = "remove the .idx file beside it: it was made from another file, and is made anew when missing";
  const std::size_t bytes = stored_bytes(header(), place);
  if (table_ != nullptr) return table_->copy(place, stored, bytes);
  if (header_.records.format == FileFormat::slow5) {
    if (read_bytes(place.offset, stored, bytes) != bytes) fail("is shorter than its index says", remedy);
    return;
  }
  std::uint64_t size = 0;
  if (read_bytes(place.offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size != bytes ||
      read_bytes(place.offset + 8, stored, bytes) != bytes)
    fail("has no record of " + std::to_string(bytes) + " bytes at byte " + std::to_string(place.offset) + ", where its index says", remedy);
}

bool SignalFile::read_if_at_hand(RecordPlace place, char* stored) const {
  const std::size_t bytes = stored_bytes(header(), place);
  if (table_ != nullptr) return table_->copy_if_at_hand(place, stored, bytes);
  std::uint64_t size = bytes;
  const iovec parts[] = {{&size, header_.records.format == FileFormat::blow5 ? sizeof size : 0}, {stored, bytes}};
  return cached_.read(place.offset, parts) && size == bytes;
}

bool SignalFile::read_if_there(RecordPlace place, std::vector<char>& stored) const {
  if (table_ != nullptr) {
    if (place.bytes == 0 || table_->place_at(place.offset).bytes != place.bytes) return false;
    stored.resize(static_cast<std::size_t>(place.bytes));
    table_->copy(place, stored.data(), stored.size());
    return true;
  }
  const bool is_text = header_.records.format == FileFormat::slow5;
  const std::uint64_t before = is_text ? 0 : 8;
  if (place.offset < extent_.begin || place.offset > extent_.end || place.bytes < 8 || place.bytes > extent_.end - place.offset) return false;
  const std::size_t bytes = stored_bytes(header_, place);
  std::uint64_t size = 0;
  if (!is_text && (read_bytes(place.offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size != bytes)) return false;
  stored.resize(bytes);
  return read_bytes(place.offset + before, stored.data(), bytes) == bytes;
}

void SignalFile::read_beginning(RecordPlace place, char* stored, std::size_t bytes) const {
  if (table_ != nullptr) return table_->copy(place, stored, bytes);
  const std::uint64_t before = header_.records.format == FileFormat::blow5 ? size_field : 0;
  if (read_bytes(place.offset + before, stored, bytes) != bytes) fail("has become shorter while it was read");
}

RecordStatus SignalFile::read_fields(RecordPlace place, RecordDecoder& decoder, std::vector<char>& stored, SignalRecord& record) const {
  if (table_ != nullptr) {
    const std::string fields = table_->fields(place);
    stored.assign(fields.begin(), fields.end());
    return decoder.decode_fields(stored, header().records, record);
  }
  const std::size_t all = stored_bytes(header_, place);
  // The name is in the first bytes; zstd needs its whole first block (128 KiB at most) to yield them.
  constexpr std::size_t first_bytes = 4096, first_block = 140 * 1024;
  const bool blocks = header_.records.record_compression == RecordCompression::zstd;
  for (const std::size_t want : {blocks ? first_block : first_bytes, first_block, all}) {
    stored.resize(std::min(want, all));
    read_beginning(place, stored.data(), stored.size());
    const RecordStatus status = decoder.decode_fields(stored, header_.records, record);
    if (status != RecordStatus::incomplete) return status;
  }
  return RecordStatus::incomplete;
}

void SignalFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
  if (table_ != nullptr) return;  // its records do not lie where their places say
  const std::uint64_t end = offset < extent_.end ? offset + std::min(bytes, extent_.end - offset) : offset;
  for (; offset < end; offset += read_ahead_piece)
    static_cast<void>(
        ::posix_fadvise(file_.number, static_cast<off_t>(offset), static_cast<off_t>(std::min(read_ahead_piece, end - offset)), POSIX_FADV_WILLNEED));
}

RecordPlace SignalFile::place_at(std::uint64_t offset) const {
  if (table_ != nullptr) return table_->place_at(offset);
  if (offset == extent_.end) return {offset, 0};
  std::uint64_t size = 0;
  if (extent_.end - offset < 8 || read_bytes(offset, reinterpret_cast<char*>(&size), sizeof size) != sizeof size || size > extent_.end - offset - 8)
    fail("is damaged: the record at byte " + std::to_string(offset) + " says it is longer than the file",
         "copy the file again and compare checksums");
  return {offset, size + 8};
}

RecordCursor::RecordCursor(const SignalFile& file, ByteRange range) : RecordCursor(file) {
  const std::uint64_t first = offset_;
  if (const RecordTable* const table = file.table(); table != nullptr && !range.is_whole()) {
    const auto scaled = [&](std::uint64_t byte) {
      return byte == ByteRange::no_end ? byte : InputPart::scaled(file.extent().end, byte, std::max<std::uint64_t>(file.file_bytes(), 1));
    };
    range = {scaled(range.begin), scaled(range.end)};
    offset_ = table->begin_from(range.begin, records_);
  } else if (file.header().records.format == FileFormat::slow5 && range.begin > first) {
    counted_from_ = range.begin;
    offset_ = range.begin - 1;
    if (offset_ < file.extent().end) offset_ += line_bytes();
  } else {
    for (RecordPlace passed; offset_ < range.begin && next_place(passed);) {
    }
  }
  end_ = range.end;
}

void RecordCursor::go_to(std::uint64_t offset, std::uint64_t records, std::uint64_t counted_from) {
  const RecordExtent all = file_.extent();
  if (offset < all.begin || offset > all.end)
    throw Failure::usage("signal file '" + file_.path() + "' has no record at byte " + std::to_string(offset),
                         "begin at a position that was said of this file");
  offset_ = offset, records_ = records, counted_from_ = counted_from;
}

std::string RecordCursor::record_text(std::uint64_t number) const {
  return "record " + std::to_string(number) + (counted_from_ > 0 ? " behind byte " + std::to_string(counted_from_) : "");
}

Failure RecordCursor::damaged(const char* what) const {
  return Failure::input("signal file '" + file_.path() + "' " + what + " " + record_text(records_), "copy the file again and compare checksums");
}

bool RecordCursor::next_place(RecordPlace& place) {
  const std::uint64_t left = file_.extent().end - offset_;
  if (left == 0 || offset_ >= end_) return false;
  ++records_;
  std::uint64_t bytes = 0;
  if (file_.header().records.format == FileFormat::slow5) {
    bytes = line_bytes();
  } else if (file_.table() != nullptr) {
    bytes = file_.place_at(offset_).bytes;
  } else {
    if (left < size_field || file_.read_bytes(offset_, reinterpret_cast<char*>(&bytes), size_field) != size_field) throw damaged("is truncated in");
    if (bytes > left - size_field) throw damaged("is damaged: it ends inside");
    bytes += size_field;
  }
  place = {offset_, bytes};
  offset_ += bytes;
  return true;
}

bool RecordCursor::next(std::span<const char>& stored, RecordPlace& place) {
  if (!next_place(place)) return false;
  stored_.resize(SignalFile::stored_bytes(file_.header(), place));
  file_.read_beginning(place, stored_.data(), stored_.size());
  stored = stored_;
  return true;
}

// Of the line at offset_, with its newline.
std::uint64_t RecordCursor::line_bytes() {
  std::size_t seen = 0;  // of the line
  while (true) {
    const auto begin = static_cast<std::size_t>(offset_ - text_begin_);
    const std::string_view rest = begin < text_.size() ? std::string_view(text_.data() + begin, text_.size() - begin) : std::string_view();
    if (const std::size_t end = rest.find('\n', seen); end != std::string_view::npos) return end + 1;
    seen = rest.size();
    // What is left moves to the front; a line that does not fit makes the buffer grow.
    if (begin > 0 && seen > 0) std::memmove(text_.data(), text_.data() + begin, seen);
    text_begin_ = offset_;
    text_.resize(std::max(text_block_bytes, 2 * seen));
    const std::uint64_t left = file_.extent().end - offset_ - seen;
    text_.resize(seen +
                 file_.read_bytes(offset_ + seen, text_.data() + seen, static_cast<std::size_t>(std::min<std::uint64_t>(left, text_.size() - seen))));
    if (text_.size() == seen) throw damaged("is truncated: it ends without a newline in");
  }
}

}  // namespace sluice::signal_reader
