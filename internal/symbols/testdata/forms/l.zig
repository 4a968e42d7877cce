const std = @import("std");
pub fn main() !void { const x = 1; }
pub const Point = struct {
    x: i32,
    pub fn init() Point { return .{}; }
};
test "a" { }
