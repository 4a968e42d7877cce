// Package remote opens sandboxes on another machine: [Server] is the environment server, [Open] the
// client, whose sandbox is a sandbox.Sandbox like any other.
//
//	srv, err := remote.NewServer(remote.Config{Dir: state, Tenants: []remote.Tenant{{Name: "ci", Token: token}}})
//	go http.Serve(listener, srv)
//
//	sb, err := remote.Open(ctx, remote.Options{URL: "http://10.0.0.7:8080", Token: token, Dir: "/path/to/repo"})
//	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"go", "test", "./..."}})
//
// # What survives what
//
// The client names every sandbox and command, so that a request whose answer was lost can be sent
// again: nothing is started twice. A command's output and its end are one log, kept in a file by
// the server; a client that was cut off asks for it from the byte it has, so that nothing is lost
// or doubled. The log stays until the client has acknowledged it, also over a restart of the
// server; commands that ran then end with [ErrLost].
//
// A sandbox lives as long as its lease. The client renews it; if it does not return in time, the
// sandbox is closed and everything in it is killed.
//
// # Workspace
//
// The client lists the directory with the hash of each file and sends the contents that the server
// does not have yet. Contents are kept separately for each tenant: the hash of a file is no right
// to read it. Permissions, times, names and symbolic links arrive unchanged; everything other than
// files, directories and links is left out.
//
// Commands change a private view. A [Sandbox] can do with it what one over a snapshot on this
// machine can: list, show and review the change, fork, go back, and export. The client decides
// about an export and writes it: the server writes the change into its own files, the review comes
// first, and the client fetches contents after it has passed, resuming where a transfer was cut
// off, and checks their hashes. Contents that the directory already holds are not fetched. Two
// things differ. An absolute link into the workspace is refused, since it names a place on the
// server. No command can be approved to run under other terms, which the server sets. A dry run
// takes place in a fork on the server, which counts as a fork.
//
// # Tools
//
// A server with a [Toolbox] runs whole tool calls next to its sandboxes: [Tools] lists the tools,
// prepares a call, and makes it. So reading, editing and testing happen in one workspace, and a
// call costs one round trip, however many files it touches.
//
//	srv, err := remote.NewServer(remote.Config{…, Tools: openTools})
//
//	tools := sb.Tools()
//	specs, err := tools.Specs(ctx)
//	p, err := tools.Prepare(ctx, remote.ToolRequest{Name: "edit", Args: args}) // if somebody is to be asked
//	result, err := tools.Call(ctx, remote.ToolRequest{Name: "edit", Args: args, Digest: p.Digest}, remote.ToolHandlers{…})
//
// A call is run once, like a command, and its progress, output, questions and texts arrive once and
// in order. The error of [Tools.Call] says whether the call ran, did not run, or may have run.
// Given the digest of what was approved, the server prepares the call again right before it runs,
// and refuses it with [ErrChanged] if it would do something else by now: a link leads elsewhere, or
// a file has other content than the diff that was shown.
//
// A toolbox belongs to one sandbox. It is opened for the first request about tools, and is closed
// before the sandbox. A fork has one of its own: what the original's toolbox remembers about a
// session is not in it.
//
// # Pipes
//
// [DialCommand] starts a command such as "docker exec -i ID coder toolhost" or "ssh HOST coder
// toolhost" and speaks the same protocol over its standard input and output. The far side calls
// [ServePipe]. It serves one workspace, in place, and ends with its input; everything that was
// started there ends with it. The command must give it bytes unchanged: no terminal.
//
// # Trust model
//
// The server lets a tenant use up its quota and no more: whoever has the token runs commands within
// the isolation that the server's configuration demands. The token travels in a header, so a
// connection over a network must use TLS; with client certificates no token is needed. The client
// believes the server about isolation, results and reviews, but writes nothing outside the
// directory that it exports to. What a toolbox sends is read with limits: 16 MiB a result, 1 MiB a
// frame. Over a pipe there is no token: whoever can start the command has what it gives.
package remote
