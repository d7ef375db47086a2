// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Stages that call the host as a plugin must not: below the C++ SDK, which would not let them.
#include <limits>
#include <map>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

namespace {

using sluice::Buffer;

// A column of numbers of which something may be wrong.
struct Column {
  std::int64_t rows = 0;
  const char* format = "l";
  std::int64_t null_count = 0, offset = 0;
  const void* bitmap = nullptr;
  std::vector<std::uint64_t> sizes;
  bool released = false;
};

sluice_status add(const sluice::Host& host, sluice_output* output, const char* name, const Column& c) {
  Buffer values = Buffer::allocate(host.memory(), static_cast<std::size_t>(c.rows + 1) * sizeof(std::int64_t));
  std::memset(values.data(), 0, values.bytes());
  ArrowSchema schema = sluice::detail::make_schema(c.format);
  ArrowArray array = sluice::detail::make_array(c.rows, std::move(values), {}, 2);
  array.null_count = c.null_count;
  array.offset = c.offset;
  array.buffers[0] = c.bitmap;
  if (c.released) array.release(&array);
  const std::vector<std::uint64_t> sizes =
      c.sizes.empty() ? std::vector<std::uint64_t>{0, static_cast<std::uint64_t>(c.rows) * sizeof(std::int64_t)} : c.sizes;
  const sluice_new_column made{sizeof made, name, &schema, &array, nullptr, sizes.size(), sizes.data()};
  const sluice_status status = host.api()->add_column(output, &made);
  if (schema.release != nullptr) schema.release(&schema);
  if (array.release != nullptr) array.release(&array);
  return status;
}

// A text column with these offsets over so many bytes; null: no bytes at all.
sluice_status add_text(const sluice::Host& host, sluice_output* output, const std::vector<std::int64_t>& offsets, std::size_t bytes,
                       bool null = false) {
  Buffer ends = Buffer::allocate(host.memory(), offsets.size() * sizeof(std::int64_t));
  std::memcpy(ends.data(), offsets.data(), ends.bytes());
  ArrowSchema schema = sluice::detail::make_schema("U");
  ArrowArray array = sluice::detail::make_array(static_cast<std::int64_t>(offsets.size()) - 1, std::move(ends),
                                                null ? Buffer() : Buffer::allocate(host.memory(), bytes), 3);
  const std::uint64_t sizes[] = {0, offsets.size() * sizeof(std::int64_t), bytes};
  const sluice_new_column made{sizeof made, "text", &schema, &array, nullptr, 3, sizes};
  const sluice_status status = host.api()->add_column(output, &made);
  if (schema.release != nullptr) schema.release(&schema);
  if (array.release != nullptr) array.release(&array);
  return status;
}

using Misuse = void (*)(const sluice::Host&, sluice_output*, std::int64_t rows);

const std::map<std::string, Misuse>& misuses() {
  static const std::map<std::string, Misuse> all = {
      {"nothing", [](const sluice::Host&, sluice_output*, std::int64_t) {}},
      {"undeclared", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "nobody", {n}); }},
      {"no_name", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, nullptr, {n}); }},
      {"other_type", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "f"}); }},
      {"unknown_type", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "tdD"}); }},
      {"other_length", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n + 1}); }},
      {"nulls", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 1}); }},
      {"bitmap",
       [](const sluice::Host& h, sluice_output* o, std::int64_t n) {
         static const char bits = 0;
         add(h, o, "made", {n, "l", 0, 0, &bits});
       }},
      {"negative_offset", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 0, -1}); }},
      {"offset_behind_the_end", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 0, 1}); }},
      {"eight_bytes", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 0, 0, nullptr, {0, 8}}); }},
      {"no_sizes", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 0, 0, nullptr, {0}}); }},
      {"released", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add(h, o, "made", {n, "l", 0, 0, nullptr, {}, true}); }},
      {"twice",
       [](const sluice::Host& h, sluice_output* o, std::int64_t n) {
         add(h, o, "made", {n});
         add(h, o, "made", {n});
       }},
      {"null_text", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { add_text(h, o, std::vector<std::int64_t>(static_cast<std::size_t>(n) + 1, 0), 0, true); }},
      {"text_without_bytes",
       [](const sluice::Host& h, sluice_output* o, std::int64_t n) {
         std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1, 3);
         offsets[0] = 0;
         add_text(h, o, offsets, 3, true);
       }},
      {"text_behind_its_bytes",
       [](const sluice::Host& h, sluice_output* o, std::int64_t n) {
         std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1, 100);
         offsets[0] = 0;
         add_text(h, o, offsets, 8);
       }},
      {"offsets_go_back",
       [](const sluice::Host& h, sluice_output* o, std::int64_t n) {
         std::vector<std::int64_t> offsets(static_cast<std::size_t>(n) + 1, 0);
         offsets[1] = 5;
         add_text(h, o, offsets, 8);
       }},
      {"null_column", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->add_column(o, nullptr); }},
      {"rows_of_a_map", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { h.api()->set_row_count(o, n + 1); }},
      {"row_that_is_not_there", [](const sluice::Host& h, sluice_output* o, std::int64_t n) { h.api()->fail_row(o, n, 0); }},
      {"reason_that_is_not_there", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->fail_row(o, 0, 7); }},
      {"emit_by_a_map", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->emit(o); }},
      {"deadline_by_a_map", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->set_deadline(o, 1); }},
      {"negative_work", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->set_work(o, -1); }},
      {"null_attribute", [](const sluice::Host& h, sluice_output* o, std::int64_t) { h.api()->set_attribute(o, nullptr, "x"); }},
      {"account_for_no_reason",
       [](const sluice::Host& h, sluice_output*, std::int64_t) {
         if (h.api()->account(h.raw(), 9, 1, nullptr) != SLUICE_OK) throw sluice::Failure(SLUICE_ERROR_INTERNAL, "the account was refused");
       }},
      {"count_of_nothing",
       [](const sluice::Host& h, sluice_output*, std::int64_t) {
         if (h.api()->count(h.raw(), nullptr, 1) != SLUICE_OK) throw sluice::Failure(SLUICE_ERROR_INTERNAL, "the number was refused");
       }},
      {"file_without_a_name",
       [](const sluice::Host& h, sluice_output*, std::int64_t) {
         sluice_file* file = nullptr;
         sluice_error error{};
         if (h.api()->open_file(h.raw(), nullptr, &file, &error) != SLUICE_OK) throw sluice::Failure(SLUICE_ERROR_INTERNAL, error.message);
       }},
  };
  return all;
}

struct Parameters {
  std::string what = "nothing";
};

class MisusingMap {
 public:
  using Parameters = ::Parameters;
  enum class Reason : std::uint32_t { none };
  static void describe(sluice::Describe<MisusingMap>& d) {
    d.id("misusing_map").summary("calls the host as it must not").map("number").needs("value", "i64", "");
    d.gives("made", "i64", "zeros", sluice::Needed::optional).gives("text", "utf8", "nothing", sluice::Needed::optional);
    d.reason("none", "never");
    d.option("what", &Parameters::what, "how");
  }
  MisusingMap(const sluice::Setup&, const Parameters& p) : what_(p.what) {}
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) { misuses().at(what_)(call, out.raw(), in.rows()); }

 private:
  std::string what_;
};

// Says how many rows there are at a wrong moment, or so many that there is no room.
class MisusingSource {
 public:
  using Parameters = ::Parameters;
  static void describe(sluice::Describe<MisusingSource>& d) {
    d.id("misusing_source").summary("calls the host as it must not").source("number").gives("value", "i64", "");
    d.option("what", &Parameters::what, "how");
  }
  MisusingSource(const sluice::Setup&, const Parameters& p) : what_(p.what) {}
  bool process(const sluice::Call& call, sluice::Output& out) {
    const sluice_host_api& api = *call.api();
    if (what_ == "no_rows") add(call, out.raw(), "value", {0});
    if (what_ == "negative_rows") api.set_row_count(out.raw(), -1);
    if (what_ == "absurd_rows") api.set_row_count(out.raw(), std::numeric_limits<std::int64_t>::max());
    if (what_ == "rows_that_do_not_fit" && api.set_row_count(out.raw(), std::int64_t{1} << 39) != SLUICE_OK)
      throw sluice::Failure(SLUICE_ERROR_MEMORY, "no room for the rows");
    if (what_ == "rows_after_columns") {
      api.set_row_count(out.raw(), 1);
      add(call, out.raw(), "value", {1});
      api.set_row_count(out.raw(), 2);
    }
    return false;
  }

 private:
  std::string what_;
};

}  // namespace

SLUICE_PLUGIN("misusing_stages", "1.0.0", "MIT", MisusingMap, MisusingSource);
