defmodule My.App do
  @doc "x"
  def run(a, b \\ 1) do
    if a do 1 end
  end
  defp hidden(x), do: x
  defmacro m(x) do
    x
  end
end
