// Package remote opens sandboxes on another machine: [Server] is the environment
// server, [Open] the client, whose sandbox is a sandbox.Sandbox like any other.
//
//	srv, err := remote.NewServer(remote.Config{Dir: state, Tenants: []remote.Tenant{{Name: "ci", Token: token}}})
//	go http.Serve(listener, srv)
//
//	sb, err := remote.Open(ctx, remote.Options{URL: "http://10.0.0.7:8080", Token: token, Dir: "/path/to/repo"})
//	exit, err := sb.Exec(ctx, sandbox.Cmd{Args: []string{"go", "test", "./..."}})
//
// # What survives what
//
// The client gives every sandbox and command its name, so that a request whose
// answer was lost can be sent again: nothing is started twice. A command's output
// and its end are one log, kept in a file by the server; a client that was cut off
// asks for it from the byte it has, so that nothing is lost or doubled. The log
// stays until the client has acknowledged it, also over a restart of the server;
// commands that ran then end with [ErrLost].
//
// A sandbox lives as long as its lease. The client renews it; when it does not
// come back in time, the sandbox is closed and all that runs in it is killed.
//
// # Workspace
//
// The client lists the directory with the hash of each file and sends the contents
// that the server does not have yet. Contents are kept for each tenant apart: the
// hash of a file is no right to read it. Commands change a private view;
// Changes lists what they changed. A symbolic link is sent as it is.
//
// # Trust model
//
// The server trusts a tenant to use its quota up and no more: whoever has the
// token runs commands within the isolation that the server's configuration
// demands. The token travels in a header, so that a connection over a network
// must be TLS; with client certificates no token is needed. The client believes
// the server's word about isolation and results.
package remote
