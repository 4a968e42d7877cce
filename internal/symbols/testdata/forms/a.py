"""Module doc with def fake(): inside."""
import os
MAX = 3
name: str = "x"
a, b = 1, 2

@decorator(
    arg=1,
)
class A(Base, metaclass=Meta):
    """Doc."""
    attr = 1
    typed: int

    def run(self, x: int = {"a": 1}["a"],
            y=None) -> Dict[str, int]:
        if x:
            pass
        def nested(): return 1
        local = 2

    @property
    async def go(self): ...

    class Inner:
        def deep(self):
            pass

# comment above
# two
async def main():
    x = """
def notreal():
"""
    foo.bar(Baz())

if True:
    def cond():
        pass
type Alias[T] = list[T]
def one(): pass
lambda x: x
