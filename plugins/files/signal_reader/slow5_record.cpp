// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "signal_reader/ex_zd.hpp"
#include "signal_reader/fast5_signal.hpp"
#include "signal_reader/plain_record.hpp"
#include "signal_reader/slow5_format.hpp"
#include "signal_reader/vbz.hpp"

namespace sluice::signal_reader {
namespace {

// Hold the fields of a record with an ordinary name (36 letters), with a long one, and with any.
constexpr std::size_t field_bytes[] = {128, 512, 2 + 65535 + record_fields_after_name + ex_zd_count_bytes};

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A compressed signal begins with its number of samples, which so many bytes tell. Of those that are not: 0.
std::size_t count_bytes(SignalCompression compression) {
  if (compression == SignalCompression::svb_zd) return sizeof(std::uint32_t);
  return compression == SignalCompression::ex_zd ? ex_zd_count_bytes : 0;
}
std::uint64_t counted(const char* signal, SignalCompression compression) {
  return compression == SignalCompression::svb_zd ? load<std::uint32_t>(signal) : load<std::uint64_t>(signal + 1);
}

RecordStatus parse_samples(std::span<const char> bytes, SignalCompression compression, SignalRecord& record, std::vector<std::int16_t>& samples) {
  if (count_bytes(compression) > 0) {
    // The count field holds the compressed signal's bytes here.
    if (record.sample_count == 0) return RecordStatus::ok;
    if (record.sample_count > bytes.size()) return RecordStatus::corrupt;
    const std::size_t before = samples.size();
    const std::span<const char> signal = bytes.first(static_cast<std::size_t>(record.sample_count));
    if (!(compression == SignalCompression::svb_zd ? decode_svb_zd(signal, samples) : decode_ex_zd(signal, samples))) return RecordStatus::corrupt;
    record.sample_count = samples.size() - before;
    return RecordStatus::ok;
  }
  if (record.sample_count > bytes.size() / sizeof(std::int16_t)) return RecordStatus::corrupt;
  const auto count = static_cast<std::size_t>(record.sample_count);
  const std::size_t before = samples.size();
  samples.resize(before + count);
  if (count != 0) std::memcpy(samples.data() + before, bytes.data(), count * sizeof(std::int16_t));
  return RecordStatus::ok;
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_double(std::string_view text, double& value) {
  if (text == ".") return value = std::numeric_limits<double>::quiet_NaN(), true;
  return parse_number(text, value);
}

// The seven columns before the samples of a text record; `signal` is set to where the samples start.
RecordStatus parse_text_fields(std::span<const char> line, SignalRecord& record, std::size_t& signal) {
  std::string_view rest(line.data(), line.size());
  std::array<std::string_view, 7> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = rest.find('\t');
    if (end == std::string_view::npos) return RecordStatus::incomplete;
    field = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  signal = line.size() - rest.size();
  record.read_id = fields[0];
  const bool fine = !fields[0].empty() && parse_number(fields[1], record.read_group) && parse_double(fields[2], record.digitisation) &&
                    parse_double(fields[3], record.offset) && parse_double(fields[4], record.range) &&
                    parse_double(fields[5], record.sampling_rate) && parse_number(fields[6], record.sample_count);
  return fine ? RecordStatus::ok : RecordStatus::corrupt;
}

RecordStatus parse_text_samples(std::string_view rest, const SignalRecord& record, std::vector<std::int16_t>& samples) {
  rest = rest.substr(0, std::min(rest.find('\t'), rest.size()));
  if (record.sample_count == 0) return rest.empty() || rest == "." ? RecordStatus::ok : RecordStatus::corrupt;
  if (record.sample_count > rest.size()) return RecordStatus::corrupt;
  const std::size_t before = samples.size();
  samples.reserve(before + static_cast<std::size_t>(record.sample_count));
  const char* at = rest.data();
  const char* const end = at + rest.size();
  while (true) {
    std::int16_t value = 0;
    const auto parsed = std::from_chars(at, end, value);
    if (parsed.ec != std::errc()) break;
    samples.push_back(value);
    at = parsed.ptr;
    if (at == end || *at != ',') break;
    ++at;
  }
  if (at == end && end[-1] != ',' && samples.size() - before == record.sample_count) return RecordStatus::ok;
  samples.resize(before);
  return RecordStatus::corrupt;
}

}  // namespace

RecordStatus parse_fields(std::span<const char> bytes, SignalRecord& record, std::size_t& signal) {
  if (bytes.size() < 2) return RecordStatus::incomplete;
  const std::size_t name_length = load<std::uint16_t>(bytes.data());
  if (name_length == 0) return RecordStatus::corrupt;
  signal = 2 + name_length + record_fields_after_name;
  if (bytes.size() < signal) return RecordStatus::incomplete;
  const char* at = bytes.data() + 2;
  record.read_id = {at, name_length};
  at += name_length;
  record.read_group = load<std::uint32_t>(at);
  record.digitisation = load<double>(at + 4);
  record.offset = load<double>(at + 12);
  record.range = load<double>(at + 20);
  record.sampling_rate = load<double>(at + 28);
  record.sample_count = load<std::uint64_t>(at + 36);
  return RecordStatus::ok;
}

namespace {

// Of tables of reads: what is compressed is in pieces, and not what is around it.
bool is_in_pieces(SignalCompression compression) { return compression == SignalCompression::vbz || compression == SignalCompression::hdf5; }
std::size_t all_samples(const SignalRecord& record, std::span<const std::int16_t>) { return static_cast<std::size_t>(record.sample_count); }

}  // namespace

std::uint64_t most_samples(std::uint64_t stored_bytes, const RecordFormat& format) {
  if (format.format == FileFormat::slow5) return stored_bytes / 2 + 1;  // a digit and a comma each
  std::uint64_t plain = stored_bytes;
  if (format.record_compression == RecordCompression::zlib) plain *= max_deflate_ratio;
  const bool is_zstd = format.record_compression == RecordCompression::zstd || is_in_pieces(format.signal_compression);
  if (is_zstd) plain = (stored_bytes / min_zstd_block + 1) * max_zstd_block_text;
  return format.signal_compression == SignalCompression::none ? plain / sizeof(std::int16_t) : plain;
}

namespace {

// Of an ex-zd signal: a twentieth of the deltas of R9 data are exceptions, of some four bytes each.
std::uint64_t likely_exception_bytes(std::uint64_t samples) { return samples / 5; }

// The beginning of a BLOW5 record's samples, as far as they have been asked for.
class BinaryBeginning {
 public:
  BinaryBeginning(PlainRecord& plain, StoredRecord stored, const RecordFormat& format) : plain_(plain), stored_(stored), format_(format) {
    plain_.begin(stored.bytes, format.record_compression, ZlibBeginning::Checksum::ignored);
  }

  RecordStatus fields(SignalRecord& record) {
    for (const std::size_t bytes : field_bytes) {
      if (!plain_.reach(bytes)) return RecordStatus::corrupt;
      const RecordStatus status = parse_fields(plain_.bytes(), record, signal_);
      if (status == RecordStatus::corrupt) return status;
      const std::size_t in_front = count_bytes(format_.signal_compression);
      const bool counts_bytes = in_front > 0 && record.sample_count != 0;
      if (status == RecordStatus::incomplete || (counts_bytes && plain_.bytes().size() < signal_ + in_front)) continue;
      const std::uint64_t in_record = record.sample_count;
      if (counts_bytes) record.sample_count = counted(plain_.bytes().data() + signal_, format_.signal_compression);
      if (record.sample_count > most_samples(stored_.whole_bytes, format_)) return RecordStatus::corrupt;
      count_ = static_cast<std::size_t>(record.sample_count);
      signal_bytes_ = in_front > 0 ? static_cast<std::size_t>(in_record) : count_ * sizeof(std::int16_t);
      control_bytes_ = is(SignalCompression::svb_zd) ? svb_zd_control_bytes(count_) : 0;
      if (counts_bytes && is(SignalCompression::svb_zd) && signal_bytes_ < in_front + control_bytes_ + count_) return RecordStatus::corrupt;
      if (is(SignalCompression::ex_zd)) ex_zd_.emplace();
      return RecordStatus::ok;
    }
    return too_short();
  }

  // Samples that have to be decoded for `samples` of them.
  std::size_t rounded_up(std::size_t samples) const { return std::min(count_, (samples + 3) / 4 * 4); }

  // Would decompressing all of the record be faster? libdeflate takes a fifth less for the same bytes, and zstd gives whole blocks.
  bool whole_is_faster(std::size_t samples) const {
    const double all = static_cast<double>(signal_ + signal_bytes_);
    const double part = static_cast<double>(likely_plain_bytes(rounded_up(samples)));
    if (format_.record_compression == RecordCompression::zlib) return part * 1.25 > all;
    if (format_.record_compression == RecordCompression::zstd) return part > all / 2 || all <= static_cast<double>(max_zstd_block_text);
    return false;
  }

  // Appends samples to `out`, which holds the first ones already, until it has `samples` of them (rounded up).
  RecordStatus extend(std::size_t samples, std::size_t before, std::vector<std::int16_t>& out) {
    if (is(SignalCompression::ex_zd)) return extend_ex_zd(samples, before, out);
    return is(SignalCompression::svb_zd) ? extend_svb_zd(samples, before, out) : extend_raw(samples, before, out);
  }
  // What the record's name refers to moves with every call of extend().
  std::string_view read_id() const { return {plain_.bytes().data() + 2, load<std::uint16_t>(plain_.bytes().data())}; }

 private:
  bool is(SignalCompression compression) const { return format_.signal_compression == compression; }
  RecordStatus too_short() const { return stored_.is_whole() ? RecordStatus::corrupt : RecordStatus::incomplete; }
  // A tenth of the deltas of a noisy signal take two bytes.
  std::size_t likely_plain_bytes(std::size_t samples) const {
    if (is(SignalCompression::ex_zd)) return signal_ + ex_zd_fixed_bytes + likely_exception_bytes(count_) + samples;
    return is(SignalCompression::svb_zd) ? signal_ + 4 + control_bytes_ + samples + samples / 8 : signal_ + samples * sizeof(std::int16_t);
  }
  const std::uint8_t* signal_data() const { return reinterpret_cast<const std::uint8_t*>(plain_.bytes().data()) + signal_; }

  RecordStatus extend_svb_zd(std::size_t samples, std::size_t before, std::vector<std::int16_t>& out) {
    const std::size_t until = rounded_up(samples);
    if (until <= place_.sample) return RecordStatus::ok;
    const std::size_t values = signal_ + 4 + control_bytes_;
    if (!plain_.reach(likely_plain_bytes(until))) return RecordStatus::corrupt;
    if (plain_.bytes().size() < values) return too_short();
    const std::size_t needed = place_.data + svb_zd_data_bytes(signal_data() + 4, place_.sample, until);
    if (4 + control_bytes_ + needed > signal_bytes_ || !plain_.reach(values + needed)) return RecordStatus::corrupt;
    if (plain_.bytes().size() < values + needed) return too_short();
    const std::size_t from = place_.sample;
    out.resize(before + until);
    if (!decode_svb_zd(signal_data() + 4, {signal_data() + 4 + control_bytes_, needed}, until, place_, out.data() + before + from))
      return RecordStatus::corrupt;
    return RecordStatus::ok;
  }
  RecordStatus extend_ex_zd(std::size_t samples, std::size_t before, std::vector<std::int16_t>& out) {
    const std::size_t until = rounded_up(samples);
    if (until <= ex_zd_->decoded()) return RecordStatus::ok;
    while (true) {
      const ExZdSignal::Status status = ex_zd_->parse(signal_here(), signal_bytes_);
      if (status == ExZdSignal::Status::ok) break;
      if (status == ExZdSignal::Status::corrupt || !plain_.reach(signal_ + ex_zd_->needed())) return RecordStatus::corrupt;
      if (plain_.bytes().size() < signal_ + ex_zd_->needed()) return too_short();
    }
    const std::size_t needed = signal_ + ex_zd_->bytes_until(until);
    if (needed > signal_ + signal_bytes_ || !plain_.reach(needed)) return RecordStatus::corrupt;
    if (plain_.bytes().size() < needed) return too_short();
    const std::size_t from = ex_zd_->decoded();
    out.resize(before + until);
    ex_zd_->decode(signal_here(), until, out.data() + before + from);
    return RecordStatus::ok;
  }
  std::span<const char> signal_here() const {
    const std::span<const char> all = plain_.bytes().subspan(signal_);
    return all.first(std::min(all.size(), signal_bytes_));
  }
  RecordStatus extend_raw(std::size_t samples, std::size_t before, std::vector<std::int16_t>& out) {
    const std::size_t until = rounded_up(samples);
    if (!plain_.reach(signal_ + until * sizeof(std::int16_t))) return RecordStatus::corrupt;
    if (plain_.bytes().size() < signal_ + until * sizeof(std::int16_t)) return too_short();
    const std::size_t from = place_.sample;
    out.resize(before + until);
    if (until > from) std::memcpy(out.data() + before + from, signal_data() + from * sizeof(std::int16_t), (until - from) * sizeof(std::int16_t));
    place_.sample = until;
    return RecordStatus::ok;
  }

  PlainRecord& plain_;
  StoredRecord stored_;
  RecordFormat format_;
  std::size_t signal_ = 0, signal_bytes_ = 0, control_bytes_ = 0, count_ = 0;
  SvbZdPlace place_;
  std::optional<ExZdSignal> ex_zd_;
};

}  // namespace

std::uint64_t likely_stored_bytes(const SignalRecord& record, std::uint64_t whole_bytes, const RecordFormat& format, std::uint64_t samples) {
  // A piece of FAST5 is mostly all of a signal.
  if (format.format == FileFormat::slow5 || format.format == FileFormat::fast5 || samples >= record.sample_count) return whole_bytes;
  if (format.signal_compression == SignalCompression::vbz) return likely_vbz_bytes(record.sample_count, whole_bytes, samples);
  const bool svb_zd = format.signal_compression == SignalCompression::svb_zd, ex_zd = format.signal_compression == SignalCompression::ex_zd;
  const std::uint64_t control = svb_zd ? record.sample_count / 4 : ex_zd ? likely_exception_bytes(record.sample_count) : 0;
  const std::uint64_t values = svb_zd ? samples + samples / 2 : ex_zd ? samples : samples * sizeof(std::int16_t);
  const std::uint64_t fields = record.read_id.size() + 512;
  std::uint64_t bytes = fields + control + values;
  // Control bytes become a half to a tenth, values hardly less.
  if (format.record_compression == RecordCompression::zlib) bytes = fields + control / 2 + values;
  if (format.record_compression == RecordCompression::zstd) {
    const std::uint64_t all = fields + control + (svb_zd || ex_zd ? record.sample_count : record.sample_count * sizeof(std::int16_t));
    const std::uint64_t blocks = (bytes + max_zstd_block_text - 1) / max_zstd_block_text * max_zstd_block_text;
    bytes = blocks >= all
                ? whole_bytes
                : static_cast<std::uint64_t>(static_cast<double>(whole_bytes) * 1.2 * static_cast<double>(blocks) / static_cast<double>(all));
  }
  return std::min(bytes, whole_bytes);
}

RecordDecoder::RecordDecoder()
    : plain_(std::make_unique<PlainRecord>()), vbz_(std::make_unique<VbzDecoder>()), fast5_(std::make_unique<Fast5Decoder>()) {}
RecordDecoder::~RecordDecoder() = default;

std::size_t RecordDecoder::capacity() const { return plain_->capacity() + vbz_->capacity() + fast5_->capacity(); }

RecordStatus RecordDecoder::decode(std::span<const char> stored, const RecordFormat& format, SignalRecord& record,
                                   std::vector<std::int16_t>& samples) {
  std::size_t signal = 0;
  if (format.format == FileFormat::slow5) {
    if (parse_text_fields(stored, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
    return parse_text_samples({stored.data() + signal, stored.size() - signal}, record, samples);
  }
  const std::span<const char> plain = plain_->whole(stored, format.record_compression);
  if (parse_fields(plain, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
  if (is_in_pieces(format.signal_compression)) return decode_in_pieces(plain.subspan(signal), true, format, all_samples, record, samples);
  return parse_samples(plain.subspan(signal), format.signal_compression, record, samples);
}

RecordStatus RecordDecoder::decode_in_pieces(std::span<const char> pieces, bool is_whole, const RecordFormat& format, const SamplesWanted& wanted,
                                             const SignalRecord& record, std::vector<std::int16_t>& samples) {
  return format.signal_compression == SignalCompression::vbz ? vbz_->decode_beginning(pieces, is_whole, wanted, record, samples)
                                                             : fast5_->decode_beginning(pieces, is_whole, wanted, record, samples);
}

RecordStatus RecordDecoder::decode_beginning(StoredRecord stored, const RecordFormat& format, const SamplesWanted& wanted, SignalRecord& record,
                                             std::vector<std::int16_t>& samples) {
  const std::size_t before = samples.size();
  const auto give_up = [&](RecordStatus status) {
    samples.resize(before);
    return status;
  };
  const bool is_text = format.format == FileFormat::slow5;
  if (is_text && !stored.is_whole()) return RecordStatus::incomplete;
  if (is_in_pieces(format.signal_compression)) {
    std::size_t signal = 0;
    const RecordStatus status = parse_fields(stored.bytes, record, signal);
    if (status != RecordStatus::ok) return stored.is_whole() ? RecordStatus::corrupt : status;
    return decode_in_pieces(stored.bytes.subspan(signal), stored.is_whole(), format, wanted, record, samples);
  }
  std::optional<BinaryBeginning> beginning;
  if (!is_text) {
    beginning.emplace(*plain_, stored, format);
    if (const RecordStatus status = beginning->fields(record); status != RecordStatus::ok) return status;
  }
  bool all = false;
  const auto decode_all = [&] {
    if (!stored.is_whole()) return RecordStatus::incomplete;
    samples.resize(before);
    all = true;
    return decode(stored.bytes, format, record, samples);
  };
  // Text is a whole line in any case.
  if (is_text)
    if (const RecordStatus status = decode_all(); status != RecordStatus::ok) return status;
  const auto count = static_cast<std::size_t>(record.sample_count);
  std::size_t want = std::min(wanted(record, {}), count);
  if (!is_text && want != count && stored.is_whole() && beginning->whole_is_faster(want)) {
    const std::span<const char> plain = plain_->whole(stored.bytes, format.record_compression);
    beginning.emplace(*plain_, StoredRecord{plain, plain.size()}, RecordFormat{format.format, RecordCompression::none, format.signal_compression});
    if (beginning->fields(record) != RecordStatus::ok || record.sample_count != count) return RecordStatus::corrupt;
  }
  std::size_t have = 0;
  while (true) {
    if (!all) {
      // All samples are decoded by the way that notices when their bytes are too many.
      const RecordStatus status = want == count ? decode_all() : beginning->extend(want, before, samples);
      if (status != RecordStatus::ok || record.sample_count != count) return give_up(status == RecordStatus::ok ? RecordStatus::corrupt : status);
    }
    have = want;
    want = std::min(wanted(record, std::span(samples).subspan(before, have)), count);
    if (want <= have) break;
  }
  samples.resize(before + want);
  if (!all) record.read_id = beginning->read_id();
  return RecordStatus::ok;
}

RecordStatus RecordDecoder::decode_auxiliary(std::span<const char> stored, const RecordFormat& format, SignalRecord& record,
                                             std::span<const char>& auxiliary) {
  std::size_t signal = 0;
  if (format.format == FileFormat::slow5) {
    if (parse_text_fields(stored, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
    const std::string_view rest(stored.data() + signal, stored.size() - signal);
    auxiliary = stored.subspan(signal + std::min(rest.find('\t'), rest.size()));
    return RecordStatus::ok;
  }
  const std::span<const char> plain = plain_->whole(stored, format.record_compression);
  if (parse_fields(plain, record, signal) != RecordStatus::ok) return RecordStatus::corrupt;
  const std::size_t in_front = count_bytes(format.signal_compression);
  const std::uint64_t item_bytes = in_front > 0 ? 1 : sizeof(std::int16_t);
  if (record.sample_count > (plain.size() - signal) / item_bytes) return RecordStatus::corrupt;
  auxiliary = plain.subspan(signal + static_cast<std::size_t>(record.sample_count * item_bytes));
  if (in_front == 0 || record.sample_count == 0) return RecordStatus::ok;
  if (record.sample_count < in_front) return RecordStatus::corrupt;
  record.sample_count = counted(plain.data() + signal, format.signal_compression);
  return RecordStatus::ok;
}

RecordStatus RecordDecoder::decode_fields(std::span<const char> stored, const RecordFormat& format, SignalRecord& record) {
  std::size_t signal = 0;
  if (format.format == FileFormat::slow5) return parse_text_fields(stored, record, signal);
  const std::size_t in_front = count_bytes(format.signal_compression);
  plain_->begin(stored, format.record_compression, ZlibBeginning::Checksum::checked);
  for (const std::size_t bytes : field_bytes) {
    if (!plain_->reach(bytes)) return RecordStatus::corrupt;
    const std::span<const char> start = plain_->bytes();
    const RecordStatus status = parse_fields(start, record, signal);
    if (status == RecordStatus::corrupt) return status;
    const bool counts_bytes = in_front > 0 && record.sample_count != 0;
    if (status == RecordStatus::incomplete || (counts_bytes && start.size() < signal + in_front)) continue;
    if (counts_bytes) record.sample_count = counted(start.data() + signal, format.signal_compression);
    return RecordStatus::ok;
  }
  return RecordStatus::incomplete;
}

}  // namespace sluice::signal_reader
