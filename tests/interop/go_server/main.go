// A server on the Go SDK, with an event store or without.
//
//	go_server none|store      prints "listening on URL"
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type none struct{}

func main() {
	var n int
	newServer := func(*http.Request) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "emit"},
			func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, none, error) {
				// A change of the tools is told to the session.
				n++
				mcp.AddTool(server, &mcp.Tool{Name: fmt.Sprintf("t%d", n)},
					func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, none, error) {
						return nil, none{}, nil
					})
				return &mcp.CallToolResult{}, none{}, nil
			})
		return server
	}
	opts := &mcp.StreamableHTTPOptions{}
	if os.Args[1] == "store" {
		opts.EventStore = mcp.NewMemoryEventStore(nil)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("listening on http://%s/mcp\n", l.Addr())
	panic(http.Serve(l, mcp.NewStreamableHTTPHandler(newServer, opts)))
}
