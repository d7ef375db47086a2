// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: a stage with an implementation for the device of mirror_device.cpp, which reads a text column there and leaves its result there.
// Run: sluice run mirrored.toml --plugin-dir build --reads READS --device mirror
#include <cstdint>
#include <iterator>
#include <memory>
#include <sluice/stage.hpp>

namespace {

std::int64_t count_known(const char* begin, const char* end) {
  std::int64_t known = 0;
  for (; begin != end; ++begin) known += *begin == 'A' || *begin == 'C' || *begin == 'G' || *begin == 'T';
  return known;
}

}  // namespace

class KnownBases {
 public:
  struct Parameters {};

  static void describe(sluice::Describe<KnownBases>& d) {
    d.id("known_bases").summary("counts the letters of a read that are A, C, G or T").map("read").work_unit("base");
    d.doc("Small letters are not counted.");
    d.needs("bases", "utf8", "the read").gives("known_bases", "i64", "how many letters are A, C, G or T");
    d.implementation<&KnownBases::process_on_mirror>("mirror", "the same on the mirror");
  }

  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto bases = in.text("bases");
    const auto known = out.column<std::int64_t>("known_bases");
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row)) known[static_cast<std::size_t>(row)] = count_known(bases[row].begin(), bases[row].end());
  }

  void process_on_mirror(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const void* const* buffers = in.find("bases")->device->array.buffers;
    const auto* offsets = static_cast<const std::int64_t*>(buffers[1]);
    const auto* letters = static_cast<const char*>(buffers[2]);
    auto result = std::make_unique<DeviceNumbers>(*call.device(), static_cast<std::size_t>(in.rows()));
    // Elsewhere this is a kernel, launched on call.device()->stream.
    for (std::int64_t row = 0; row < in.rows(); ++row)
      result->numbers()[row] = in.ok(row) ? count_known(letters + offsets[row], letters + offsets[row + 1]) : 0;
    add(out, "known_bases", std::move(result));
  }

 private:
  // Memory of the device that a column owns.
  struct DeviceNumbers {
    DeviceNumbers(const sluice_device& of, std::size_t count) : device(of), rows(count) {
      const sluice_status status = device.allocate(&device, rows * sizeof(std::int64_t), &memory);
      if (status != SLUICE_OK) throw sluice::Failure(status, "no room for the result");
      buffers[1] = memory;
    }
    ~DeviceNumbers() { device.free(&device, memory); }
    DeviceNumbers(const DeviceNumbers&) = delete;
    std::int64_t* numbers() const { return static_cast<std::int64_t*>(memory); }

    const sluice_device& device;  // lives longer than every column on it
    const std::size_t rows;
    void* memory = nullptr;
    const void* buffers[2] = {nullptr, nullptr};
  };

  static void add(sluice::Output& out, const char* name, std::unique_ptr<DeviceNumbers> owner) {
    const std::uint64_t bytes[] = {0, owner->rows * sizeof(std::int64_t)};
    ArrowSchema schema{};  // constants only, so there is nothing to release
    schema.format = sluice::element_type<std::int64_t>().format;
    schema.release = [](ArrowSchema* released) { released->release = nullptr; };
    ArrowDeviceArray array{};
    array.device_type = ARROW_DEVICE_EXT_DEV;
    array.device_id = owner->device.native_ordinal;
    array.array.length = out.rows();
    array.array.n_buffers = 2;
    array.array.buffers = owner->buffers;
    array.array.private_data = owner.get();
    array.array.release = [](ArrowArray* released) {
      delete static_cast<DeviceNumbers*>(released->private_data);
      released->release = nullptr;
    };
    out.add({sizeof(sluice_new_column), name, &schema, nullptr, &array, std::size(bytes), bytes});
    owner.release();  // the column has it now
  }
};

SLUICE_PLUGIN("known_bases", "1.0.0", "MIT", KnownBases);
