#pragma once

#include "frontend/export/schema.h"
#include "frontend/json.h"

namespace stator::exported {

using json::Json;

// `text` is what torch.utils._pytree.treespec_dumps() writes; `fields` has the field names of named tuples by type.
// Throws Error(kBadModel), or Error(kUnsupported) for containers of unknown classes.
TreeSpec read_tree(const std::string& text, const Json* fields);

}  // namespace stator::exported
