// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice::testing;

namespace {

// A well-behaved map: the sum of each row's numbers, and (optional) their count.
struct Sum {
  enum class Reason : std::uint32_t { no_numbers };
  struct Parameters {
    int factor = 1;
  };
  static void describe(sluice::Describe<Sum>& d) {
    d.id("sum").summary("adds numbers").doc("Adds the numbers of a row.").map("row");
    d.needs("number", "list<i32>", "what to add").gives("sum", "i64", "the sum").gives("terms", "i32", "how many", sluice::Needed::optional);
    d.option("factor", &Parameters::factor, "what the sum is multiplied by").range(1, 10);
    d.reason("no_numbers", "the row is empty");
  }
  Sum(const sluice::Setup& setup, const Parameters& p) : factor(p.factor), counts(setup.wanted("terms")) {}
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto numbers = in.list<std::int32_t>("number");
    const auto sums = out.column<std::int64_t>("sum");
    const auto terms = counts ? out.column<std::int32_t>("terms") : std::span<std::int32_t>();
    call.parallel_for(static_cast<std::size_t>(in.rows()), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto at = static_cast<std::int64_t>(row);
        if (!in.ok(at)) continue;
        if (numbers[at].empty()) out.fail(at, Reason::no_numbers);
        for (const std::int32_t number : numbers[at]) sums[row] += std::int64_t{number} * factor;
        if (counts) terms[row] = static_cast<std::int32_t>(numbers[at].size());
      }
    });
    call.count("rows seen", static_cast<double>(in.rows()));
  }
  int factor;
  bool counts;
};

// A device that is plain memory, and a map with an implementation for it.
namespace plain {
std::int64_t blocks = 0;
const sluice_device_provider& provider() {
  static const sluice_device_provider made = [] {
    sluice_device_provider p{};
    p.struct_size = sizeof p;
    p.kind = "plain";
    p.count = []() -> std::int32_t { return 1; };
    p.describe = [](std::int32_t, sluice_device_info*, sluice_error*) -> sluice_status { return SLUICE_OK; };
    p.open = [](std::int32_t, void**, sluice_error*) -> sluice_status { return SLUICE_OK; };
    p.close = [](void*) {};
    p.open_stream = [](void*, void**, sluice_error*) -> sluice_status { return SLUICE_OK; };
    p.close_stream = [](void*, void*) {};
    p.synchronize = [](void*, void*, sluice_error*) -> sluice_status { return SLUICE_OK; };
    p.allocate = [](void*, void*, std::size_t bytes, void** memory) -> sluice_status { return *memory = ::operator new(bytes), ++blocks, SLUICE_OK; };
    p.free = [](void*, void*, void* memory) { ::operator delete(memory), --blocks; };
    p.copy_to_device = p.copy_to_host = [](void*, void*, void* to, const void* from, std::size_t bytes, sluice_error*) -> sluice_status {
      return std::memcpy(to, from, bytes), SLUICE_OK;
    };
    return p;
  }();
  return made;
}
}  // namespace plain

struct Lengths {
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<Lengths>& d) {
    d.id("lengths")
        .summary("length of lists")
        .doc("How many numbers a row has.")
        .map("row")
        .needs("number", "list<i32>", "numbers")
        .gives("length", "i64", "how many");
    d.implementation<&Lengths::process_on_device>("plain", "on the device of the test");
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto lengths = out.column<std::int64_t>("length");
    for (std::int64_t row = 0; row < in.rows(); ++row)
      lengths[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(in.list<std::int32_t>("number")[row].size());
  }
  void process_on_device(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    struct Owner {
      const sluice_device* device;
      const void* buffers[2];
    };
    const sluice_device& device = *call.device();
    const auto* offsets = static_cast<const std::int64_t*>(in.find("number")->device->array.buffers[1]);
    void* memory = nullptr;
    const sluice_status status = device.allocate(&device, static_cast<std::size_t>(in.rows()) * 8, &memory);
    if (status != SLUICE_OK) throw sluice::Failure(status, "the device is full");
    for (std::int64_t row = 0; row < in.rows(); ++row) static_cast<std::int64_t*>(memory)[row] = offsets[row + 1] - offsets[row];
    ArrowSchema schema = sluice::detail::make_schema("l");
    ArrowDeviceArray array{};
    auto* owner = new Owner{&device, {nullptr, memory}};
    array.array.length = in.rows();
    array.array.n_buffers = 2;
    array.array.buffers = owner->buffers;
    array.array.private_data = owner;
    array.array.release = [](ArrowArray* released) {
      auto* mine = static_cast<Owner*>(released->private_data);
      mine->device->free(mine->device, const_cast<void*>(mine->buffers[1]));
      delete mine;
      released->release = nullptr;
    };
    const std::uint64_t bytes[] = {0, static_cast<std::uint64_t>(in.rows()) * 8};
    const sluice_new_column made{sizeof made, "length", &schema, nullptr, &array, 2, bytes};
    out.add(made);
  }
};

// Breaks its contract in every call: the first row of a batch is special, and failed rows are looked at.
struct Careless {
  struct Parameters {};
  static void describe(sluice::Describe<Careless>& d) {
    d.id("careless").summary("depends on the batch").doc("Wrong on purpose.").map("row");
    d.needs("number", "list<i32>", "numbers").gives("position", "i64", "the row's index in its batch");
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto positions = out.column<std::int64_t>("position");
    for (std::int64_t row = 0; row < in.rows(); ++row) positions[static_cast<std::size_t>(row)] = row;
  }
};

struct Forgetful {
  struct Parameters {};
  static void describe(sluice::Describe<Forgetful>& d) {
    d.id("forgetful").summary("forgets its column").doc("Wrong on purpose.").map("row");
    d.needs("number", "list<i32>", "numbers").gives("promised", "i64", "never made");
  }
  void process(const sluice::Call&, const sluice::Batch&, sluice::Output&) {}
};

// Counts to `last`, a few rows a batch.
struct Counter {
  struct Parameters {
    int last = 10;
  };
  static void describe(sluice::Describe<Counter>& d) {
    d.id("counter").summary("counts").doc("Counts from 0.").source("row").gives("number", "i32", "0, 1, 2, ...");
    d.option("last", &Parameters::last, "where to stop").range(0, 1000);
  }
  Counter(const sluice::Setup&, const Parameters& p) : last(p.last) {}
  bool process(const sluice::Call& call, sluice::Output& out) {
    const int rows = std::min(std::max(1, static_cast<int>(call.target_work())), last - next);
    out.set_rows(rows);
    const auto numbers = out.column<std::int32_t>("number");
    for (std::int32_t& number : numbers) number = next++;
    return next < last;
  }
  int last, next = 0;
};

// Writes sums, rendered in process(), and a closing line.
struct Writer {
  struct Parameters {
    sluice::Path output;
  };
  static void describe(sluice::Describe<Writer>& d) {
    d.id("writer").summary("writes sums").doc("One line per row.").sink("row").needs("sum", "i64", "what to write");
    d.option("output", &Parameters::output, "where to").required();
  }
  Writer(const sluice::Setup& setup, const Parameters& p) : file(setup, p.output) {}
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    std::vector<std::string> lines;
    for (std::int64_t row = 0; row < in.rows(); ++row)
      lines.push_back(in.ok(row) ? std::to_string(in.column<std::int64_t>("sum")[static_cast<std::size_t>(row)]) + "\n" : "");
    out.text_rows("_line", lines);
  }
  void commit(const sluice::Call&, const sluice::Batch& in) {
    const auto lines = in.text("_line");
    for (std::int64_t row = 0; row < in.rows(); ++row) file.write(lines[row]);
  }
  void finish(const sluice::Call&, sluice::Output&) {
    file.write("end\n");
    file.close();
  }
  sluice::OutputFile file;
};

// Joins all rows into one.
struct Total {
  struct Parameters {};
  static void describe(sluice::Describe<Total>& d) {
    d.id("total").summary("one sum").doc("The sum of all rows.").regroup("row", "total").needs("sum", "i64", "term").gives("total", "i64", "the sum");
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output&) {
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row)) total += in.column<std::int64_t>("sum")[static_cast<std::size_t>(row)];
  }
  void finish(const sluice::Call&, sluice::Output& out) {
    out.set_rows(1);
    out.column<std::int64_t>("total")[0] = total;
    out.emit();
  }
  std::int64_t total = 0;
};

TestBatch numbers() { return BatchBuilder("row", 4).list<std::int32_t>("number", {{1, 2}, {}, {3}, {4, 5, 6}}).build(); }
TestBatch sums() { return BatchBuilder("row", 3).column<std::int64_t>("sum", {7, 8, 9}).failed(1).build(); }
const std::vector<std::string> none;

bool any_contains(const std::vector<std::string>& lines, std::string_view part) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a map runs over a batch and its columns, failed rows and counters come back") {
  const Result result = run_stage<Sum>(numbers()).with({{"factor", 2}}).run();
  REQUIRE(result.ok());
  CHECK(result.problems == none);
  const auto sum = result.batch().view().column<std::int64_t>("sum");
  CHECK(std::vector<std::int64_t>(sum.begin(), sum.end()) == std::vector<std::int64_t>{6, 0, 6, 30});
  CHECK(result.failed == std::vector<FailedRow>{{0, 1, "no_numbers"}});
  CHECK_FALSE(result.batch().ok(1));
  CHECK(result.counters.at("rows seen") == 4);
  CHECK(result.batch().view().has("number"));
  run_stage<Sum>(numbers()).expect_rows(3);
}

TEST_CASE("a window on a batch shows the same cells") {
  const TestBatch window = numbers().rows(2, 4);
  CHECK(window.rows() == 2);
  CHECK(window.view().list<std::int32_t>("number")[1][2] == 6);
  const Result result = run_stage<Sum>(window).run();
  CHECK(result.batch().view().column<std::int64_t>("sum")[0] == 3);
}

TEST_CASE("parameters are checked as a host checks them") {
  CHECK(run_stage<Sum>(numbers()).with({{"factor", 11}}).run().status == SLUICE_ERROR_USAGE);
  CHECK(run_stage<Sum>(numbers()).with({{"factor", "two"}}).run().status == SLUICE_ERROR_USAGE);
  CHECK(run_stage<Sum>(numbers()).with({{"faktor", 1}}).run().message == "unknown parameter 'faktor'");
  CHECK(run_stage<Writer>(sums()).run().message == "parameter 'output' is required");
}

TEST_CASE("a source runs until it ends") {
  const Result result = run_stage<Counter>().with({{"last", 7}}).target_work(3).run();
  REQUIRE(result.ok());
  REQUIRE(result.batches.size() == 3);
  CHECK(result.rows() == 7);
  CHECK(result.batches[2].view().column<std::int32_t>("number")[0] == 6);
  CHECK(result.batches[2].view().sequence() == 2);
}

TEST_CASE("a sink's files come back, in the order of the batches") {
  const Result result = run_stage<Writer>({sums(), sums()}).with({{"output", "folder/out.txt"}}).run();
  REQUIRE(result.ok());
  CHECK(result.files.at("folder/out.txt") == "7\n9\n7\n9\nend\n");
  const Result full = run_stage<Writer>(sums()).with({{"output", "out.txt"}}).file_capacity(3).run();
  CHECK(full.status == SLUICE_ERROR_OUTPUT);
  CHECK(full.message.find("out.txt") != std::string::npos);
}

TEST_CASE("an implementation for a device gets its columns there") {
  const Result result = run_stage<Lengths>(numbers().rows(1, 4)).device(plain::provider()).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.problems == none);
  CHECK(result.batch().view().column<std::int64_t>("length")[2] == 3);
  CHECK(run_stage<Sum>(numbers()).device(plain::provider()).run().status == SLUICE_ERROR_UNSUPPORTED);
  CHECK(contract_problems<Lengths>({.batches = {numbers(), numbers()}, .devices = {&plain::provider()}}) == none);
  CHECK(plain::blocks == 0);
}

TEST_CASE("a regroup emits rows of another type") {
  const Result result = run_stage<Total>({sums(), sums()}).run();
  REQUIRE(result.ok());
  CHECK(result.batch().view().row_type() == "total");
  CHECK(result.batch().view().column<std::int64_t>("total")[0] == 32);
}

TEST_CASE("well-behaved stages have no contract problems") {
  CHECK(contract_problems<Sum>({.batches = {numbers()}}) == none);
  CHECK(contract_problems<Counter>() == none);
  CHECK(contract_problems<Writer>({.parameters = {{"output", "x"}}, .batches = {sums(), sums()}}) == none);
}

TEST_CASE("the contract suite finds careless stages") {
  CHECK(any_contains(contract_problems<Careless>({.batches = {numbers()}}), "one row a batch: row 1 differs"));
  CHECK(any_contains(contract_problems<Forgetful>({.batches = {numbers()}}), "column 'promised' was not made"));
}
