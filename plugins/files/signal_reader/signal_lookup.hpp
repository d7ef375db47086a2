// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The stage signal_lookup.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <sluice/input_turns.hpp>
#include <sluice/repeated_reads.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <utility>
#include <vector>

#include "signal_reader/followed_signal.hpp"
#include "signal_reader/pod5_file.hpp"
#include "signal_reader/read_metadata.hpp"
#include "signal_reader/signal_files.hpp"
#include "signal_reader/signal_kind.hpp"
#include "signal_reader/signal_part.hpp"

namespace sluice::signal_reader {

// Random access: the record of each read of the batch, by read id.
class SignalLookup {
 public:
  using Parameters = FollowEnding;
  enum class Reason : std::uint32_t { no_signal, incomplete_file, not_needed, repeated_read, bad_signal_part };
  static void describe(Describe<SignalLookup>& d) {
    d.id("signal_lookup")
        .summary("fetches each read's signal record from BLOW5, SLOW5, POD5 or FAST5 files by read id")
        .map("read")
        .blocking()
        .side_by_side();
    d.doc(
        "Uses the index FILE.idx of slow5tools. When it is missing, older than the file, or made from another file, it is made anew and kept beside "
        "the file, "
        "or only in memory when that folder cannot be written to. POD5 and FAST5 files are their own index; of many FAST5 files each is opened "
        "before the run begins, to find which reads it has. The records of a batch are read in file order. Of several records of a read, "
        "in one file or several, the first is used, and the others are counted, and named in the account. Where signal_read names another read, its "
        "record is fetched, and signal_part says which of its samples are the read's.\n\n"
        "With `follow`, which the resource must have too, files are taken up as they come (POD5, FAST5) and grow (BLOW5 and SLOW5, by whole "
        "records), and a "
        "batch with a read that is in none of them waits for it until the end is told. No index is written.");
    describe_follow_ending(d);
    d.needs("read_id", "utf8", "name of the read");
    d.needs("signal_read", "utf8", "the read of the sequencer that has its signal", Needed::optional);
    d.needs("signal_part", "list<i64>", "which part of that is its own, as basecaller_tags gives it", Needed::optional);
    d.gives("signal_begin", "i64", "first sample of the record that is the read's", Needed::optional);
    d.gives("signal_end", "i64", "end of its samples, exclusive; -1: the record's", Needed::optional);
    d.gives("signal_record", "binary", "the record as stored in the file (compressed)");
    d.uses("signal", "signal_file", "the files");
    d.reason("no_signal", "the signal files have no record with this read id");
    d.reason("incomplete_file", "a followed file that could be read in part only, or not: truncated, damaged, replaced, gone or of another kind");
    d.reason("not_needed", "its signal had not come when enough rows were there (`head`)");
    d.reason("repeated_read", "the signal has a further record of the read, which is not used; no row is lost");
    d.reason("bad_signal_part", "the basecaller's tags (ts, ns, pi, sp) name no part of the signal that is there");
    d.work_unit("byte");
  }
  SignalLookup(const Setup& setup, const Parameters& p)
      : has_parent_(setup.available("signal_read")),
        has_part_(setup.available("signal_part")),
        gives_part_(setup.wanted("signal_begin") && setup.wanted("signal_end")) {
    const Batch signal = setup.resource("signal");
    is_rna_ = signal.attribute("chemistry").starts_with("rna");
    format_ = record_format(signal).format;
    if (p.follow)
      follow(signal, p);
    else
      open_all(setup, signal);
  }

  Estimate estimate(const Batch& in) const {
    const TextView read_ids = in.text(name_column());
    Estimate e;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      const Found found = in.ok(row) ? find(read_ids[row]) : Found();
      e.work += static_cast<double>(found.place.bytes);
      e.largest_row_work = std::max(e.largest_row_work, static_cast<double>(found.place.bytes));
      e.output_bytes += found.place.bytes;
    }
    return e;
  }

  void process(const Call& call, const Batch& in, Output& out) {
    const TextView read_ids = in.text(name_column());
    using Rest = FollowedLookup::Rest;
    const Rest rest = followed_ ? followed_->lookup().wait(call, [&] { return missing(in); }) : Rest::is_lost;
    const auto rows = static_cast<std::size_t>(in.rows());
    std::vector<Found> found(rows);
    std::vector<std::size_t> order;
    order.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (!in.ok(r)) continue;
      found[row] = find(read_ids[r]);
      if (found[row].place.bytes != 0)
        order.push_back(row);
      else if (rest == Rest::is_lost)
        out.fail(r, Reason::no_signal);
      else
        out.filter(r, Reason::not_needed);
    }
    const Buffer offsets = out.offsets([&](std::int64_t r) {
      const Found& one = found[static_cast<std::size_t>(r)];
      return one.place.bytes == 0 ? std::size_t{0} : static_cast<std::size_t>(one.place.bytes) - SignalFile::bytes_around(format_);
    });
    const std::span<char> bytes = out.text("signal_record", offsets, "binary");
    const std::span<const std::int64_t> begin = offsets.as<std::int64_t>();
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return found[a].number != found[b].number ? found[a].number < found[b].number : found[a].place.offset < found[b].place.offset;
    });
    PartColumns parts;
    if (gives_part_) {
      parts = {out.column<std::int64_t>("signal_begin"), out.column<std::int64_t>("signal_end")};
      std::fill(parts.begin.begin(), parts.begin.end(), 0);
      std::fill(parts.end.begin(), parts.end.end(), -1);
    }
    const auto each = [&](std::size_t first, std::size_t last, const auto& read) {
      for (std::size_t i = first; i < last; ++i) {
        if (!followed_ && call.cancelled()) return;
        const std::size_t row = order[i];
        read(*file_of(found[row]), found[row].place, bytes.data() + begin[row], i);
      }
    };
    // A disk likes one reader. FAST5 files are opened for each read, which takes longer than reading. And what the system has in memory is copied.
    const bool opens_each = format_ == FileFormat::fast5;
    const std::size_t grain = opens_each ? 4 : std::max<std::size_t>(1, bytes_a_thread * order.size() / std::max<std::size_t>(bytes.size(), 1));
    std::vector<char> is_read(order.size());
    call.parallel_for(order.size(), grain, [&](std::size_t first, std::size_t last) {
      each(first, last, [&](const SignalFile& file, RecordPlace place, char* to, std::size_t i) {
        if (opens_each) file.read(place, to);
        is_read[i] = opens_each || file.read_if_at_hand(place, to) ? 1 : 0;
      });
    });
    if (std::find(is_read.begin(), is_read.end(), 0) != is_read.end()) {
      const std::lock_guard lock(disk_);
      each(0, order.size(), [&](const SignalFile& file, RecordPlace place, char* to, std::size_t i) {
        if (is_read[i] == 0) file.read(place, to);
      });
    }
    if (gives_part_ && has_part_) find_parts(call, in, found, {bytes.data(), bytes.size()}, begin, parts, out);
  }

  void finish(const Call& call, Output&) {
    if (followed_) followed_->lookup().finish(call);
  }

 private:
  using Found = FollowedSignal::Found;
  static constexpr std::size_t bytes_a_thread = 128 << 10;  // that a thread copies at a time: 50 microseconds

  void follow(const Batch& signal, const Parameters& p) {
    const auto check = [signal](const SignalFile& file) { refuse_difference(file, std::string(signal.attribute("path")), signal); };
    followed_.emplace(p.rules(std::string(signal.attribute("inputs")), signal_endings), static_cast<std::uint32_t>(Reason::incomplete_file),
                      static_cast<std::uint32_t>(Reason::repeated_read), check);
  }
  void open_all(const Setup& setup, const Batch& signal) {
    files_.emplace(signal.attribute("path"));
    const ParallelLoop parallel = [&setup](std::size_t count, std::size_t grain, const auto& body) { setup.parallel_for(count, grain, body); };
    const RepeatedReads::Each each = to_account(setup, static_cast<std::uint32_t>(Reason::repeated_read));
    RepeatedReads in_files_before(each);
    for (std::size_t i = 0; i < files_->size(); ++i) {
      files_->goes_through(i, parallel);
      const std::shared_ptr<const SignalFile> file = files_->file(i);
      if (file->fast5() != nullptr) refuse_difference(*file, files_->path(0), signal);  // others have been compared before
      IndexSource source;
      source.repeated = RepeatedReads(each);
      SignalIndex index = load_or_build_index(*file, parallel, source);
      const std::size_t reads = index.size();
      warn_of_repeated(setup, "signal file '" + file->path() + "' has ", source.repeated);
      add(std::move(index), files_->begin(i), in_files_before);
      if (source.action == IndexSource::Action::loaded) continue;
      setup.info((source.action == IndexSource::Action::made ? "made the index '" : "made in memory the index '") + file->path() + ".idx' of " +
                 std::to_string(reads) + " reads: " + source.reason);
    }
    warn_of_repeated(setup, "the signal files have ", in_files_before);
    setup.count("indexed_reads", static_cast<double>(index_.size()));
  }
  static void warn_of_repeated(const Setup& setup, const std::string& where, const RepeatedReads& repeated) {
    if (repeated.count() == 0) return;
    setup.warn(where + std::to_string(repeated.count()) + " records of reads that an earlier record has, which is used: " + repeated.names());
  }

  FollowedLookup::Missing missing(const Batch& in) const {
    return FollowedLookup::missing_reads(
        in, [&](std::string_view read_id) { return find(read_id).place.bytes != 0; }, name_column());
  }
  const char* name_column() const { return has_parent_ ? "signal_read" : "read_id"; }

  struct PartColumns {
    std::span<std::int64_t> begin, end;
  };
  // Which samples are the reads'. Records of rows without tags are not looked at.
  void find_parts(const Call& call, const Batch& in, const std::vector<Found>& found, std::span<const char> bytes, std::span<const std::int64_t> at,
                  const PartColumns& columns, Output& out) {
    const auto parts = in.list<std::int64_t>("signal_part");
    std::optional<RecordDecoder> decoder;
    for (std::size_t row = 0; row < found.size(); ++row) {
      const auto r = static_cast<std::int64_t>(row);
      if (!in.ok(r) || found[row].place.bytes == 0 || parts[r].empty()) continue;
      if (!decoder) decoder.emplace();
      const std::optional<SignalPart> part = SignalPart::of(parts[r]);
      const auto begin = static_cast<std::size_t>(at[row]), end = static_cast<std::size_t>(at[row + 1]);
      const std::optional<ParentRead> parent = part ? parent_of(found[row], bytes.subspan(begin, end - begin), *part, *decoder) : std::nullopt;
      if (part && !parent) continue;  // it can't be decoded, as signal_decode will say
      const ResolvedPart resolved = part ? resolve(*part, *parent) : ResolvedPart{PartStatus::impossible, {}};
      if (resolved.status == PartStatus::impossible) {
        out.fail(r, Reason::bad_signal_part);
        continue;
      }
      columns.begin[row] = resolved.samples.begin;
      columns.end[row] = resolved.samples.end;
      if (resolved.status != PartStatus::guessed) continue;
      call.count("split reads of an unknown version of dorado", 1);
      if (!warned_of_guess_.exchange(true))
        call.warn(
            "split reads whose tags say neither a version of dorado nor when they began: their signal may begin 10 samples later than is assumed, "
            "about "
            "one base");
    }
  }
  std::optional<ParentRead> parent_of(const Found& found, std::span<const char> stored, const SignalPart& part, RecordDecoder& decoder) const {
    const std::shared_ptr<const SignalFile> file = file_of(found);
    const Slow5Header& header = file->header();
    ReadMetadata metadata;
    const bool needs_start = part.needs_start(is_rna_);
    if (file->table() != nullptr) {
      try {
        metadata = read_metadata(*file, found.place);
      } catch (const FormatProblem&) {
        return std::nullopt;
      }
    } else if (needs_start) {
      if (!read_metadata(stored, header, decoder, metadata)) return std::nullopt;
    } else {
      SignalRecord record;
      if (decoder.decode_fields(stored, header.records, record) != RecordStatus::ok) return std::nullopt;
      metadata.sample_count = record.sample_count;
      metadata.sampling_rate = record.sampling_rate;
    }
    ParentRead parent;
    parent.samples = static_cast<std::int64_t>(metadata.sample_count);
    parent.sampling_rate = metadata.sampling_rate;
    parent.is_rna = is_rna_;
    if (!needs_start) return parent;
    parent.start_sample = metadata.start_sample;
    for (const char* name : {"acquisition_start_time", "exp_start_time"})
      if (parent.acquisition_ms < 0) parent.acquisition_ms = time_of_header(header.attribute(name, metadata.read_group));
    return parent;
  }

  Found find(std::string_view read_id) const {
    if (followed_) return followed_->find(read_id);
    const auto place = index_.find(read_id);
    if (!place) return {};
    const std::size_t file = files_->file_at(place->offset);
    return {nullptr, file, {place->offset - files_->begin(file), place->bytes}};
  }
  // Of one that is followed, which stays open, it is known; others are opened, and may be closed again.
  std::shared_ptr<const SignalFile> file_of(const Found& found) const {
    return found.file != nullptr ? std::shared_ptr<const SignalFile>(std::shared_ptr<void>(), found.file) : files_->file(found.number);
  }
  // Of several files with a read the first one's record is kept.
  void add(SignalIndex index, std::uint64_t begin, RepeatedReads& repeated) {
    if (begin == 0 && index_.size() == 0) {
      index_ = std::move(index);
      return;
    }
    for (std::size_t i = 0; i < index.size(); ++i)
      if (index_.add(index.read_id(i), {begin + index.place(i).offset, index.place(i).bytes}) == SignalIndex::Added::duplicate)
        repeated.add(index.read_id(i));
  }

  FileFormat format_ = FileFormat::blow5;
  bool has_parent_, has_part_, gives_part_, is_rna_ = false;
  std::atomic<bool> warned_of_guess_ = false;
  std::mutex disk_;  // of calls side by side one reads what the system has not in its memory
  mutable std::optional<SignalFiles> files_;
  SignalIndex index_;                       // of all files: places among the bytes of all
  std::optional<FollowedSignal> followed_;  // instead of these
};

}  // namespace sluice::signal_reader
