// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fast5_reader/hdf5_objects.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace sluice::fast5_reader {
namespace {

// No attribute of a FAST5 file is longer: what says so is damaged.
constexpr std::size_t most_text = std::size_t{1} << 16;
constexpr std::size_t most_attributes = 1000;

bool is_in_this_file(hid_t place, const std::string& name) {
  H5L_info_t info{};
  return H5Lexists(place, name.c_str(), H5P_DEFAULT) > 0 && H5Lget_info(place, name.c_str(), &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

// An attribute of one value: its type, read into memory in the form that is asked for.
class Attribute {
 public:
  Attribute(hid_t object, const char* name)
      : attribute_(H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID, H5Aclose),
        type_(attribute_ ? H5Aget_type(attribute_.id()) : H5I_INVALID_HID, H5Tclose) {
    if (!type_) return;
    const Object space(H5Aget_space(attribute_.id()), H5Sclose);
    if (space && H5Sget_simple_extent_npoints(space.id()) == 1) kind_ = H5Tget_class(type_.id());
  }
  H5T_class_t kind() const { return kind_; }

  std::optional<std::string> text() const {
    if (H5Tis_variable_str(type_.id()) > 0) return text_of_any_length();
    const std::size_t bytes = H5Tget_size(type_.id());
    if (bytes == 0 || bytes > most_text) return std::nullopt;
    std::string text(bytes, '\0');
    if (H5Aread(attribute_.id(), type_.id(), text.data()) < 0) return std::nullopt;
    text.resize(std::min(text.find('\0'), text.size()));
    if (H5Tget_strpad(type_.id()) == H5T_STR_SPACEPAD) text.resize(text.find_last_not_of(' ') + 1);
    return text;
  }
  template <class T>
  std::optional<T> value(hid_t type) const {
    T value{};
    return H5Aread(attribute_.id(), type, &value) < 0 ? std::nullopt : std::optional<T>(value);
  }
  std::optional<std::string> enumeration() const {
    std::array<unsigned char, 64> value{};
    std::array<char, 256> name{};
    if (H5Tget_size(type_.id()) > value.size() || H5Aread(attribute_.id(), type_.id(), value.data()) < 0 ||
        H5Tenum_nameof(type_.id(), value.data(), name.data(), name.size()) < 0)
      return std::nullopt;
    return std::string(name.data(), ::strnlen(name.data(), name.size()));
  }
  bool is_unsigned() const { return H5Tget_sign(type_.id()) == H5T_SGN_NONE; }

 private:
  std::optional<std::string> text_of_any_length() const {
    const Object memory(H5Tcopy(type_.id()), H5Tclose);
    char* text = nullptr;
    if (!memory || H5Aread(attribute_.id(), memory.id(), &text) < 0 || text == nullptr) return std::nullopt;
    std::string copy(text, ::strnlen(text, most_text));
    H5free_memory(text);
    return copy;
  }

  Object attribute_, type_;
  H5T_class_t kind_ = H5T_NO_CLASS;
};

template <class T>
std::string written(T value) {
  std::array<char, 64> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

template <class T>
std::optional<T> number_in(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  T value{};
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc() && end == text->data() + text->size() ? std::optional<T>(value) : std::nullopt;
}

herr_t add_name(hid_t /*group*/, const char* name, const H5L_info_t* /*link*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}
herr_t add_attribute_name(hid_t /*object*/, const char* name, const H5A_info_t* /*attribute*/, void* to) {
  auto& names = *static_cast<std::vector<std::string>*>(to);
  names.emplace_back(name);
  return names.size() < most_attributes ? 0 : 1;
}
herr_t take_innermost(unsigned /*number*/, const H5E_error2_t* error, void* text) {
  if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 1;
}

}  // namespace

Object open_group(hid_t place, const std::string& name) {
  return {is_in_this_file(place, name) ? H5Gopen2(place, name.c_str(), H5P_DEFAULT) : H5I_INVALID_HID, H5Gclose};
}
Object open_dataset(hid_t place, const std::string& name) {
  return {is_in_this_file(place, name) ? H5Dopen2(place, name.c_str(), H5P_DEFAULT) : H5I_INVALID_HID, H5Dclose};
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  hsize_t at = 0;
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, add_name, &names) < 0) names.clear();
  return names;
}

std::optional<std::string> text_attribute(hid_t object, const char* name) {
  const Attribute attribute(object, name);
  switch (attribute.kind()) {
    case H5T_STRING:
      return attribute.text();
    case H5T_ENUM:
      return attribute.enumeration();
    case H5T_INTEGER:
      if (attribute.is_unsigned()) {
        const auto value = attribute.value<std::uint64_t>(H5T_NATIVE_UINT64);
        return value ? std::optional(written(*value)) : std::nullopt;
      } else {
        const auto value = attribute.value<std::int64_t>(H5T_NATIVE_INT64);
        return value ? std::optional(written(*value)) : std::nullopt;
      }
    case H5T_FLOAT: {
      const auto value = attribute.value<double>(H5T_NATIVE_DOUBLE);
      return value ? std::optional(written(*value)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> number_attribute(hid_t object, const char* name) {
  const Attribute attribute(object, name);
  if (attribute.kind() == H5T_STRING) return number_in<double>(attribute.text());
  if (attribute.kind() != H5T_INTEGER && attribute.kind() != H5T_FLOAT) return std::nullopt;
  return attribute.value<double>(H5T_NATIVE_DOUBLE);
}

std::optional<std::int64_t> whole_number_attribute(hid_t object, const char* name) {
  const Attribute attribute(object, name);
  if (attribute.kind() == H5T_STRING) return number_in<std::int64_t>(attribute.text());
  if (attribute.kind() == H5T_INTEGER) return attribute.value<std::int64_t>(H5T_NATIVE_INT64);
  if (attribute.kind() != H5T_FLOAT) return std::nullopt;
  const auto value = attribute.value<double>(H5T_NATIVE_DOUBLE);
  constexpr double most = 9e15;  // doubles tell whole numbers apart up to here
  if (!value || !(std::abs(*value) < most) || *value != std::floor(*value)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> enumeration_attribute(hid_t object, const char* name) {
  const Attribute attribute(object, name);
  if (attribute.kind() == H5T_STRING) return attribute.text();
  return attribute.kind() == H5T_ENUM ? attribute.enumeration() : std::nullopt;
}

std::vector<std::pair<std::string, std::string>> text_attributes(hid_t object) {
  std::vector<std::string> names;
  hsize_t at = 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, add_attribute_name, &names);
  std::vector<std::pair<std::string, std::string>> texts;
  for (std::string& name : names)
    if (std::optional<std::string> text = text_attribute(object, name.c_str())) texts.emplace_back(std::move(name), std::move(*text));
  return texts;
}

std::string last_problem() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &text);
  return text.empty() ? "HDF5 can't read it" : text;
}

}  // namespace sluice::fast5_reader
