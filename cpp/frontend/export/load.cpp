#include "frontend/export/load.h"

#include "frontend/export/method.h"
#include "frontend/export/records.h"
#include "frontend/export/schema_reader.h"
#include "frontend/export/weights.h"
#include "frontend/json.h"
#include "graph/error.h"

namespace stator {

Program load_export(const ArchiveBytes& bytes, bool borrow) {
  using namespace exported;
  using namespace json;
  try {
    const Records records(bytes);
    const ExportedProgram source = read_program(records.program());
    Program program;
    program.format = "export";
    program.methods.push_back(import_method(source, read_weights(records, borrow), program.slots));
    return program;
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kBadModel, std::string("the archive cannot be loaded: ") + error.what_without_backtrace());
  } catch (const Json::exception& error) {
    malformed(error.what());
  }
}

}  // namespace stator
