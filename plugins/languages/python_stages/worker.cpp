// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sluice/column_check.hpp>

namespace sluice::python {
namespace {

// Packets are int64 numbers of this machine, the first one of these, and perhaps a text.
enum class Packet : std::int64_t { region = 1, forget, call, room, log = 10, need, made, raised };

using Numbers = std::vector<std::int64_t>;

constexpr std::size_t least_region = std::size_t{64} << 10;

std::string packed(const Numbers& numbers) { return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::int64_t)}; }

[[noreturn]] void refuse(const std::string& what) {
  throw Failure(SLUICE_ERROR_INTERNAL, "a worker of Python says what can't be: " + what, "this is a bug in sluice: please report it");
}

Numbers unpacked(std::string_view packet, std::size_t count) {
  if (packet.size() < count * sizeof(std::int64_t)) refuse("a packet of " + std::to_string(packet.size()) + " bytes");
  Numbers numbers(count);
  std::memcpy(numbers.data(), packet.data(), count * sizeof(std::int64_t));
  return numbers;
}

std::string text_behind(std::string_view packet, std::size_t count) { return std::string(packet.substr(count * sizeof(std::int64_t))); }

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// One needed column as it lies in the batch.
struct InputColumn {
  std::string_view type;
  const std::int64_t* offsets = nullptr;  // rows + 1; null: one value a row
  const std::uint8_t* values = nullptr;   // from the first that is a row's
  std::size_t value_bytes = 0;
  std::int64_t value_count = 0;
};

InputColumn input_column(const sluice_column& column) {
  const ArrowArray& array = *column.array;
  InputColumn result{column.type};
  const auto bytes_of = [](std::string_view type) { return std::max<std::size_t>(item_bytes(type), 1); };
  if (!is_text(result.type) && !is_list(result.type)) {
    result.value_count = array.length;
    result.value_bytes = static_cast<std::size_t>(array.length) * bytes_of(result.type);
    result.values = static_cast<const std::uint8_t*>(array.buffers[1]) + static_cast<std::size_t>(array.offset) * bytes_of(result.type);
    return result;
  }
  result.offsets = static_cast<const std::int64_t*>(array.buffers[1]) + array.offset;
  const std::int64_t first = result.offsets[0];
  result.value_count = result.offsets[array.length] - first;
  const std::size_t each = is_text(result.type) ? 1 : bytes_of(item_type(result.type));
  const void* const values = is_text(result.type) ? array.buffers[2] : array.children[0]->buffers[1];
  const std::int64_t before = first + (is_text(result.type) ? 0 : array.children[0]->offset);
  result.value_bytes = static_cast<std::size_t>(result.value_count) * each;
  result.values = static_cast<const std::uint8_t*>(values) + static_cast<std::size_t>(before) * each;
  return result;
}

// Fills a region from its beginning.
class Filling {
 public:
  explicit Filling(SharedRegion& region) : region_(region) {}
  std::int64_t add(const void* data, std::size_t bytes) {
    const std::size_t at = used_;
    if (bytes > 0) std::memcpy(region_.data() + at, data, bytes);
    used_ += aligned(bytes);
    return static_cast<std::int64_t>(at);
  }
  std::int64_t add_offsets(const std::int64_t* offsets, std::size_t count) {
    const std::int64_t at = add(offsets, count * sizeof(std::int64_t));
    if (offsets[0] != 0) {
      auto* const copy = reinterpret_cast<std::int64_t*>(region_.data() + at);
      for (std::size_t i = 0; i < count; ++i) copy[i] -= offsets[0];
    }
    return at;
  }

 private:
  SharedRegion& region_;
  std::size_t used_ = 0;
};

// Part of a region that columns keep.
struct Lease {
  std::unique_ptr<SharedRegion> region;
  std::shared_ptr<ResultRegions> home;
  ~Lease() { home->put_back(std::move(region)); }
};

Buffer part_of(const std::shared_ptr<Lease>& lease, std::int64_t at, std::uint64_t bytes) {
  const std::uint64_t all = lease->region->bytes();
  const auto from = static_cast<std::uint64_t>(at);
  if (at < 0 || from % 8 != 0 || from > all || bytes > all - from) refuse("a column outside of its memory");
  return Buffer::adopt(lease, lease->region->data() + from, bytes);
}

}  // namespace

ColumnData column_of(const std::string& type, std::int64_t rows, Buffer first, Buffer second) {
  const auto format = [](std::string_view of) {
    return std::find_if(std::begin(element_types), std::end(element_types), [&](const ElementType& element) { return of == element.name; })->format;
  };
  if (is_text(type)) return text_column(rows, std::move(first), std::move(second), type.c_str());
  if (!is_list(type)) {
    std::vector<std::uint64_t> sizes = {0, first.bytes()};
    return {detail::make_schema(format(type)), detail::make_array(rows, std::move(first), {}, 2), std::move(sizes)};
  }
  const auto count = static_cast<std::int64_t>(second.bytes() / item_bytes(item_type(type)));
  std::vector<std::uint64_t> sizes = {0, first.bytes(), 0, second.bytes()};
  ArrowArray array = detail::make_array(rows, std::move(first), {}, 2);
  auto* const owner = static_cast<detail::ArrayOwner*>(array.private_data);
  owner->child = detail::make_array(count, std::move(second), {}, 2);
  owner->children[0] = &owner->child;
  array.n_children = 1;
  array.children = owner->children;
  return {detail::make_schema("+L", format(item_type(type))), array, std::move(sizes)};
}

std::unique_ptr<SharedRegion> ResultRegions::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it)
    if ((*it)->bytes() >= bytes && (best == free_.end() || (*it)->bytes() < (*best)->bytes())) best = it;
  if (best == free_.end()) return nullptr;
  std::unique_ptr<SharedRegion> region = std::move(*best);
  free_.erase(best);
  return region;
}

void ResultRegions::put_back(std::unique_ptr<SharedRegion> region) {
  const std::lock_guard lock(mutex_);
  if (closed_ || !region) return;
  free_.push_back(std::move(region));
  if (free_.size() <= most_free) return;
  dropped_.push_back(free_.front()->number());  // the one that has been free for longest
  free_.erase(free_.begin());
}

void ResultRegions::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  free_.clear();
}

std::vector<std::int64_t> ResultRegions::dropped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(dropped_, {});
}

Worker::Worker(const PythonPlace& place, const std::string& file, const std::string& function)
    : name_(file + ":" + function), interpreter_(place.interpreter), process_(place, file, function) {}

const Introduction& Worker::introduction(const std::function<bool()>& give_up) {
  if (introduction_) return *introduction_;
  std::vector<std::string> said;
  try {
    said = unpacked_texts(process_.receive(give_up));
  } catch (const WorkerDied& death) {
    throw Failure(SLUICE_ERROR_UNSUPPORTED, "the worker for " + name_ + " could not start: " + death.how,
                  "is '" + interpreter_ + "' Python 3.10 or later? SLUICE_PYTHON names another");
  }
  if (said.size() >= 3 && said[0] == "failed") throw Failure(SLUICE_ERROR_USAGE, said[1], said[2]);
  if (said.size() < 3 || said[0] != "ready" || said.size() % 2 == 0) refuse("an introduction of " + std::to_string(said.size()) + " texts");
  introduction_.emplace();
  introduction_->description = said[1];
  introduction_->parameter_count = static_cast<std::size_t>(std::strtoull(said[2].c_str(), nullptr, 10));
  for (std::size_t i = 3; i + 1 < said.size(); i += 2) introduction_->gives.push_back({said[i], said[i + 1]});
  return *introduction_;
}

Worker::~Worker() { results_->close(); }

void Worker::set_up(const std::vector<std::string>& values, const std::vector<ColumnKind>& wanted) {
  wanted_ = wanted;
  std::vector<std::string> texts = {std::to_string(values.size())};
  texts.insert(texts.end(), values.begin(), values.end());
  for (const ColumnKind& column : wanted) texts.push_back(column.name);
  process_.send(packed_texts(texts));
}

void Worker::give(const SharedRegion& region) {
  process_.send(packed({static_cast<std::int64_t>(Packet::region), region.number(), static_cast<std::int64_t>(region.bytes())}), region.descriptor());
}

void Worker::forget(std::int64_t number) { process_.send(packed({static_cast<std::int64_t>(Packet::forget), number})); }

// A larger one in the place of one that is too small, or was kept by somebody. A quarter more than asked for: the next batch is of about this size.
void Worker::make_room(std::unique_ptr<SharedRegion>& region, std::size_t bytes) {
  if (region && region->bytes() >= bytes) return;
  if (region) forget(region->number());
  region.reset();
  region = std::make_unique<SharedRegion>(std::max(least_region, aligned(bytes + bytes / 4)));
  give(*region);
}

// Puts the batch into shared memory, and says where.
std::string Worker::request(const Batch& in) {
  const sluice_batch& raw = in.raw();
  const auto rows = static_cast<std::size_t>(in.rows());
  std::size_t bytes = raw.row_status != nullptr ? aligned(rows * sizeof(std::uint16_t)) : 0;
  std::vector<InputColumn> columns;
  for (std::size_t i = 0; i < raw.column_count; ++i) {
    columns.push_back(input_column(*SLUICE_AT(sluice_column, raw.columns, raw.column_stride, i)));
    bytes += aligned(columns.back().value_bytes) + (columns.back().offsets != nullptr ? aligned((rows + 1) * sizeof(std::int64_t)) : 0);
  }
  make_room(input_, bytes);
  input_used_ = bytes;
  const auto expected = static_cast<std::size_t>(1.1 * result_per_input_ * static_cast<double>(bytes)) + least_region;
  if (!result_) result_ = results_->take(expected);
  make_room(result_, expected);
  for (const std::int64_t number : results_->dropped()) forget(number);
  Filling filling(*input_);
  const std::int64_t status = raw.row_status == nullptr ? -1 : filling.add(raw.row_status, rows * sizeof(std::uint16_t));
  Numbers numbers = {static_cast<std::int64_t>(Packet::call), input_->number(), in.rows(), status, result_->number()};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    numbers.push_back(columns[i].offsets == nullptr ? -1 : filling.add_offsets(columns[i].offsets, rows + 1));
    numbers.push_back(filling.add(columns[i].values, columns[i].value_bytes));
    numbers.push_back(columns[i].value_count);
    const sluice_column& column = *SLUICE_AT(sluice_column, raw.columns, raw.column_stride, i);
    names.insert(names.end(), {column.name, column.type});
  }
  numbers.insert(numbers.begin() + 1, static_cast<std::int64_t>(columns.size()));
  return packed(numbers) + packed_texts(names);
}

Answer Worker::call(const Batch& in, const CallHooks& hooks) {
  process_.send(request(in));
  while (true) {
    const std::string packet = process_.receive(hooks.give_up);
    Answer answer;
    switch (static_cast<Packet>(unpacked(packet, 1)[0])) {
      case Packet::log:
        hooks.log(static_cast<int>(unpacked(packet, 2)[1]), text_behind(packet, 2));
        break;
      case Packet::need: {
        const std::int64_t bytes = unpacked(packet, 2)[1];
        if (bytes < 0) refuse("a need of " + std::to_string(bytes) + " bytes");
        make_room(result_, static_cast<std::size_t>(bytes));
        process_.send(packed({static_cast<std::int64_t>(Packet::room), result_->number()}));
        break;
      }
      case Packet::made:
        take_results(in, packet, answer);
        if (unpacked(packet, 2)[1] != 0) forget(std::exchange(input_, nullptr)->number());
        return answer;
      case Packet::raised: {
        const Numbers said = unpacked(packet, 3);
        answer.raised = std::make_unique<Raised>(Raised{text_behind(packet, 3), said[2] != 0});
        if (said[1] != 0) forget(std::exchange(input_, nullptr)->number());
        return answer;
      }
      default:
        refuse("a packet of an unknown kind");
    }
  }
}

// made, whether the input is kept, bytes used, failed rows, where they are; per wanted column: is it there, offsets or -1, values, their count.
void Worker::take_results(const Batch& in, std::string_view packet, Answer& answer) {
  constexpr std::size_t head = 5, each = 4;
  const Numbers said = unpacked(packet, head + each * wanted_.size());
  const auto lease = std::make_shared<Lease>();
  lease->home = results_;
  lease->region = std::move(result_);
  const double ratio = static_cast<double>(said[2]) / static_cast<double>(std::max(least_region, input_used_));
  result_per_input_ = std::max(0.95 * result_per_input_, ratio);
  if (said[3] < 0 || said[3] > in.rows()) refuse(std::to_string(said[3]) + " failed rows of " + std::to_string(in.rows()));
  const auto failed = static_cast<std::size_t>(said[3]);
  const std::span<std::int64_t> failures = part_of(lease, said[4], 2 * failed * sizeof(std::int64_t)).as<std::int64_t>();
  for (std::size_t i = 0; i < failed; ++i) answer.failed.emplace_back(failures[2 * i], static_cast<std::uint32_t>(failures[2 * i + 1]));
  const auto offset_bytes = (static_cast<std::uint64_t>(in.rows()) + 1) * sizeof(std::int64_t);
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const std::int64_t* const column = said.data() + head + each * i;
    if (column[0] == 0) continue;
    const std::string& type = wanted_[i].type;
    const std::size_t width = is_text(type) ? 1 : item_bytes(is_list(type) ? item_type(type) : type);
    if (column[3] < 0 || column[3] > static_cast<std::int64_t>(lease->region->bytes()))
      refuse("a column of " + std::to_string(column[3]) + " values");
    Buffer values = part_of(lease, column[2], static_cast<std::uint64_t>(column[3]) * width);
    const bool has_offsets = is_text(type) || is_list(type);
    Buffer first = has_offsets ? part_of(lease, column[1], offset_bytes) : values;
    answer.columns.emplace_back(wanted_[i].name, column_of(type, in.rows(), std::move(first), has_offsets ? std::move(values) : Buffer()));
  }
}

}  // namespace sluice::python
