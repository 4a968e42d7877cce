local M = {}
function M.new(x)
  if x then return 1 end
end
function M:method() end
local function helper()
  --[[ function no() ]]
end
