// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Objects of HDF5 and their attributes, whatever type a writer of FAST5 chose for them. Attributes that are missing, or of no use, are none.

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::fast5_reader {

// Closes itself.
class Object {
 public:
  using Close = herr_t (*)(hid_t);
  Object(hid_t id, Close close) : id_(id), close_(close) {}
  Object(Object&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Object& operator=(Object&&) = delete;
  ~Object() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

// Of a link that is in the file itself: links into other files are not followed. Invalid where there is none.
Object open_group(hid_t place, const std::string& name);
Object open_dataset(hid_t place, const std::string& name);

// Names of what is in a group, in the order of their bytes.
std::vector<std::string> names_in(hid_t group);

// Text as it is, the name of an enumeration's value, numbers as they are written.
std::optional<std::string> text_attribute(hid_t object, const char* name);
// Numbers of any type, and text that is one.
std::optional<double> number_attribute(hid_t object, const char* name);
std::optional<std::int64_t> whole_number_attribute(hid_t object, const char* name);
// The name of an enumeration's value; of numbers without names: none.
std::optional<std::string> enumeration_attribute(hid_t object, const char* name);
// Names and texts of all.
std::vector<std::pair<std::string, std::string>> text_attributes(hid_t object);

// What HDF5 said of the last failure, innermost first.
std::string last_problem();

}  // namespace sluice::fast5_reader
