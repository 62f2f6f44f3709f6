// attn-opt: mlir-opt with attnc's dialects, passes and pipelines. Main and registration only.
#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Pipelines/Pipelines.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  attnc::registerPassesAndPipelines();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<mlir::attn::AttnDialect, mlir::tile::TileDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "attnc optimizer driver\n", registry));
}
