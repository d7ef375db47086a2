// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Columns that another library has made as children of a struct array.

#include <sluice/abi.h>

#include <functional>
#include <string>

namespace sluice {

// Takes the struct apart and calls `add` for each column that it has, with what sluice_host_api.add_column wants. Both structs are released, also
// when something is thrown: Failure, where the array is no struct of `rows` rows or a column has nulls.
void import_columns(ArrowSchema& schema, ArrowArray& array, std::int64_t rows, const std::function<void(const sluice_new_column&)>& add);

}  // namespace sluice
