// RUN: attn-opt %s --tile-persist --tile-specialize-warps --split-input-file --verify-diagnostics

// expected-error @+1 {{warp specialisation takes a kernel with one kv_loop, got 0}}
tile.kernel @no_loop(%len: i32 {tile.name = "max_len_kv"}) attributes {warps = 8 : i32, role = "main", grid = 1, tile.schedule = {warp_specialized}} {
  tile.return
}

// -----

// expected-error @+1 {{the grid's symbol 'total_q' is not an argument of the kernel; a persistent kernel must compute its grid's size}}
tile.kernel @unknown_size(%len: i32 {tile.name = "max_len_kv"}) attributes {warps = 8 : i32, role = "main", grid = ["mul", "total_q", 2], tile.schedule = {persistent}} {
  tile.return
}
