// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "python_stages/python_place.hpp"

#include <cstdlib>
#include <initializer_list>
#include <sluice/failure.hpp>

namespace sluice::python {
namespace {

namespace fs = std::filesystem;

fs::path first_of(const fs::path& from, std::initializer_list<const char*> candidates) {
  std::error_code error;
  for (const char* candidate : candidates)
    if (const fs::path file = fs::weakly_canonical(from / candidate, error); !error && fs::exists(file, error)) return file;
  return {};
}

}  // namespace

PythonPlace find_python(const fs::path& plugin) {
  PythonPlace place;
  const char* const named = std::getenv("SLUICE_PYTHON");
  place.interpreter = named != nullptr && *named != '\0' ? named : "python3";
  const fs::path folder = plugin.parent_path();
  // Of a build; of a wheel; installed in lib/sluice/plugins or lib/MACHINE/sluice/plugins.
  place.worker = first_of(folder, {"../python/sluice/_worker.py", "../../_worker.py", "../../../share/sluice/python/sluice/_worker.py",
                                   "../../../../share/sluice/python/sluice/_worker.py"});
  if (place.worker.empty())
    throw Failure(SLUICE_ERROR_UNSUPPORTED, "the Python package of sluice does not lie beside " + plugin.string(),
                  "use the wheel's `sluice`, or install it with its Python package");
  if (std::getenv("SLUICE_LIBRARY") == nullptr) place.libsluice = first_of(folder, {"../libsluice.so", "../../libsluice.so"});
  return place;
}

}  // namespace sluice::python
