// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Batches as struct arrays of the Arrow C Data Interface, without a copy: what leaves shares the columns' memory and keeps it alive.

#include <sluice/abi.h>

#include <memory>
#include <string>
#include <vector>

#include "batch/batch.hpp"

namespace sluice {

struct StreamColumn {
  std::string name, type;  // as in sluice_column_spec
  bool nullable = false;
};

// A struct of these columns.
ArrowSchema export_schema(const std::vector<StreamColumn>& columns);

// The same schema again.
ArrowSchema copied_schema(const ArrowSchema& schema);

// The batch's columns of these names, in this order, on the host; `made` (as long as the batch) is appended where it is not null. `keeps` lives as
// long as any part of what is given out. Throws Failure where a column can't be had.
ArrowArray export_batch(const BatchHandle& batch, const std::vector<StreamColumn>& columns, const ColumnHandle& made,
                        std::shared_ptr<const void> keeps);

// The same again, of what export_batch() gave. Throws Failure for any other array.
ArrowArray export_again(const ArrowArray& exported);

// Text per row as a column with nulls: null where `texts` has "".
ColumnHandle nullable_text(const std::string& name, const std::vector<std::string>& texts);

}  // namespace sluice
