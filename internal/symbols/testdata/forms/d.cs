using System;
namespace Acme.Net
{
    [Serializable]
    public abstract class Server<T> : Base, IDisposable where T : class
    {
        private readonly string path = @"c:\x\";
        public int Port { get; set; } = 3;
        public Server(int port) : base(port) { }
        public async Task<List<T>> RunAsync<K>(K k) where K : struct
        {
            if (k == null) { return null; }
            var x = new Foo { A = 1 };
        }
        public int Twice(int x) => x * 2;
        protected abstract void Go();
        public struct P { public int X; }
        enum Kind { A, B }
    }
    public record R(int X);
    interface I { void M(); int Q { get; } }
}
