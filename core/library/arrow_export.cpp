// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/arrow_export.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <sluice/column_check.hpp>
#include <sluice/failure.hpp>
#include <utility>

namespace sluice {
namespace {

const char* format_of(std::string_view type) {
  for (const ElementType& element : element_types)
    if (type == element.name) return element.format;
  throw Failure(SLUICE_ERROR_INTERNAL, "a column of the unknown type '" + std::string(type) + "'");
}

// One level of a schema; every level can be taken out of the others and released by itself.
struct SchemaNode {
  std::string format, name;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

void release_schema_node(ArrowSchema* schema) {
  const auto* node = static_cast<SchemaNode*>(schema->private_data);
  for (ArrowSchema* child : node->pointers)
    if (child->release != nullptr) child->release(child);
  delete node;
  schema->release = nullptr;
}

ArrowSchema schema_node(std::string format, std::string name, bool nullable, std::vector<ArrowSchema> children) {
  auto node = std::make_unique<SchemaNode>();
  node->format = std::move(format);
  node->name = std::move(name);
  node->children = std::move(children);
  for (ArrowSchema& child : node->children) node->pointers.push_back(&child);
  ArrowSchema schema{};
  schema.format = node->format.c_str();
  schema.name = node->name.c_str();
  schema.flags = nullable ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = static_cast<std::int64_t>(node->pointers.size());
  schema.children = node->pointers.empty() ? nullptr : node->pointers.data();
  schema.release = release_schema_node;
  schema.private_data = node.release();
  return schema;
}

// What all nodes of one exported batch share. Whoever releases the last one ends it: the batch first, then what its memory belongs to.
struct ExportedBatch {
  std::shared_ptr<const void> keeps;
  BatchHandle batch;
  ColumnHandle made;
  std::vector<StreamColumn> columns;
  std::deque<ArrowArray> nodes;                   // children, at addresses that stay
  std::deque<std::vector<ArrowArray*>> pointers;  // to them
  const void* no_buffer = nullptr;                // the struct's bitmap
  std::atomic<std::int64_t> references{0};
};

void release_array_node(ArrowArray* array) {
  auto* const shared = static_cast<ExportedBatch*>(array->private_data);
  for (std::int64_t i = 0; i < array->n_children; ++i)
    if (array->children[i]->release != nullptr) array->children[i]->release(array->children[i]);
  array->release = nullptr;
  if (shared->references.fetch_sub(1) == 1) delete shared;
}

// The same array again, with nodes of its own: a reader may take any of them out.
ArrowArray shared_node(const ArrowArray& of, ExportedBatch& shared) {
  ArrowArray node = of;
  node.private_data = &shared;
  node.release = release_array_node;
  ++shared.references;
  if (of.n_children > 0) {
    std::vector<ArrowArray*>& children = shared.pointers.emplace_back();
    for (std::int64_t i = 0; i < of.n_children; ++i) children.push_back(&shared.nodes.emplace_back(shared_node(*of.children[i], shared)));
    node.children = children.data();
  }
  return node;
}

}  // namespace

ArrowSchema export_schema(const std::vector<StreamColumn>& columns) {
  std::vector<ArrowSchema> fields;
  for (const StreamColumn& column : columns) {
    std::vector<ArrowSchema> items;
    if (is_list(column.type)) items.push_back(schema_node(format_of(item_type(column.type)), "item", false, {}));
    const char* const format = is_list(column.type) ? "+L" : format_of(column.type);
    fields.push_back(schema_node(format, column.name, column.nullable, std::move(items)));
  }
  return schema_node("+s", "", false, std::move(fields));
}

ArrowSchema copied_schema(const ArrowSchema& schema) {
  std::vector<ArrowSchema> children;
  for (std::int64_t i = 0; i < schema.n_children; ++i) children.push_back(copied_schema(*schema.children[i]));
  return schema_node(schema.format, schema.name == nullptr ? "" : schema.name, (schema.flags & ARROW_FLAG_NULLABLE) != 0, std::move(children));
}

ArrowArray export_batch(const BatchHandle& batch, const std::vector<StreamColumn>& columns, const ColumnHandle& made,
                        std::shared_ptr<const void> keeps) {
  auto shared = std::make_unique<ExportedBatch>();
  shared->keeps = std::move(keeps);
  shared->batch = batch;
  shared->made = made;
  shared->columns = columns;
  std::vector<ArrowArray*> children;
  for (const StreamColumn& column : columns) {
    const ColumnHandle* found = made && made->name() == column.name ? &made : batch->find(column.name);
    if (found == nullptr) throw Failure(SLUICE_ERROR_INTERNAL, "the batch has no column '" + column.name + "'");
    children.push_back(&shared->nodes.emplace_back(shared_node((*found)->host(), *shared)));
  }
  ArrowArray array{};
  array.length = batch->rows;
  array.n_buffers = 1;
  array.buffers = &shared->no_buffer;
  array.n_children = static_cast<std::int64_t>(children.size());
  array.children = shared->pointers.emplace_back(std::move(children)).data();
  array.release = release_array_node;
  ++shared->references;
  array.private_data = shared.release();
  return array;
}

ArrowArray export_again(const ArrowArray& exported) {
  if (exported.release != release_array_node) throw Failure(SLUICE_ERROR_USAGE, "this is no batch of sluice, or it has been released");
  const auto& shared = *static_cast<const ExportedBatch*>(exported.private_data);
  return export_batch(shared.batch, shared.columns, shared.made, shared.keeps);
}

ColumnHandle nullable_text(const std::string& name, const std::vector<std::string>& texts) {
  const auto rows = static_cast<std::int64_t>(texts.size());
  Buffer offsets = offsets_from_sizes(rows, {}, [&](std::int64_t row) { return texts[static_cast<std::size_t>(row)].size(); });
  Buffer bytes = text_for(offsets, {});
  Buffer bitmap = Buffer::allocate({}, (texts.size() + 7) / 8 + 1);
  auto* const bits = static_cast<std::uint8_t*>(bitmap.data());
  std::memset(bits, 0, bitmap.bytes());
  auto* to = static_cast<char*>(bytes.data());
  std::int64_t nulls = 0;
  for (std::size_t row = 0; row < texts.size(); ++row) {
    if (texts[row].empty()) {
      ++nulls;
      continue;
    }
    bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | (1u << (row % 8)));
    std::memcpy(to, texts[row].data(), texts[row].size());
    to += texts[row].size();
  }
  ArrowArray array = detail::make_array(rows, std::move(offsets), std::move(bytes), 3);
  auto* const owner = static_cast<detail::ArrayOwner*>(array.private_data);
  owner->keep[0] = std::move(bitmap);
  owner->buffers[0] = owner->keep[0].data();
  array.null_count = nulls;
  return std::make_shared<Column>(name, "utf8", detail::make_schema("U"), array);
}

}  // namespace sluice
