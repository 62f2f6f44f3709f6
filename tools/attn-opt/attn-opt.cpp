// attn-opt: mlir-opt with attnc's dialects, passes and pipelines. Main and registration only.
#include "attnc/Conversion/Passes.h"
#include "attnc/Dialect/Attn/AttnDialect.h"
#include "attnc/Dialect/Attn/Passes.h"
#include "attnc/Dialect/Tile/Passes.h"
#include "attnc/Dialect/Tile/TileDialect.h"
#include "attnc/Host/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mlir::attn::registerAttnChooseConfig();
  mlir::attn::registerAttnDeriveKvBounds();
  mlir::attn::registerAttnResolveVariant();
  mlir::attn::registerAttnSplitKv();
  mlir::tile::registerTileAssignLayouts();
  mlir::tile::registerTilePipelineLoads();
  mlir::tile::registerTileSplitKvRange();
  mlir::tile::registerTileExpandSoftmax();
  attnc::registerConvertAttnToTile();
  attnc::registerConvertTileToNVVM();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  attnc::registerConvertTileToLinalg();
  attnc::registerHostPipelines();
  registry.insert<mlir::attn::AttnDialect, mlir::tile::TileDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "attnc optimizer driver\n", registry));
}
