// The Go SDK's client against our server.
//
//	go_client URL [VERSION]    VERSION 2025-11-25 does the handshake; without
//	                           it the SDK asks for 2026-07-28 first
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var failed bool

func check(good bool, format string, args ...any) {
	word := "ok"
	if !good {
		word, failed = "not ok", true
	}
	fmt.Printf("%s - %s\n", word, fmt.Sprintf(format, args...))
}

func until(count *atomic.Int32, n int32) int32 {
	for i := 0; i < 500 && count.Load() < n; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	return count.Load()
}

func text(c []mcp.Content) string {
	if len(c) == 0 {
		return ""
	}
	t, ok := c[0].(*mcp.TextContent)
	if !ok {
		return ""
	}
	return t.Text
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var progress, changes atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "interop-go", Version: "1"}, &mcp.ClientOptions{
		CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (
			*mcp.CreateMessageResult, error) {
			said := text([]mcp.Content{r.Params.Messages[0].Content})
			return &mcp.CreateMessageResult{Role: "assistant", Model: "none",
				Content: &mcp.TextContent{Text: "about " + said}}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changes.Add(1) },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {
			progress.Add(1)
		},
	})
	opts := &mcp.ClientSessionOptions{}
	want := "2026-07-28"
	if len(os.Args) > 2 {
		want = os.Args[2]
		opts.ProtocolVersion = want
	}
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, opts)
	if err != nil {
		check(false, "connect: %v", err)
		os.Exit(1)
	}
	got := s.InitializeResult().ProtocolVersion
	check(got == want, "connected to %s, version %s", s.InitializeResult().ServerInfo.Name, got)

	call := func(name string, args map[string]any, token any) (string, bool) {
		p := &mcp.CallToolParams{Name: name, Arguments: args}
		if token != nil {
			p.SetProgressToken(token)
		}
		r, err := s.CallTool(ctx, p)
		if err != nil {
			return err.Error(), true
		}
		return text(r.Content), r.IsError
	}
	tools, err := s.ListTools(ctx, nil)
	check(err == nil && len(tools.Tools) > 4, "tools are listed: %v", err)
	said, _ := call("echo", map[string]any{"text": "Grüße ✓"}, nil)
	check(said == "Grüße ✓", "echo answers what was said: %s", said)
	said, _ = call("slow", map[string]any{"ms": 200, "steps": 4}, "slow-1")
	check(until(&progress, 3) >= 3, "progress comes %d times: %s", progress.Load(), said)
	call("emit", map[string]any{"n": 3, "interval_ms": 20}, nil)
	check(until(&changes, 3) >= 3, "list_changed arrives %d times", changes.Load())
	said, bad := call("fail", map[string]any{}, nil)
	check(bad, "fail is an error: %s", said)
	said, _ = call("big", map[string]any{"bytes": 300000}, nil)
	check(len(said) >= 300000, "a big result is whole")
	said, _ = call("ask", map[string]any{"prompt": "rain"}, nil)
	check(strings.Contains(said, "about rain"), "sampling is asked and answered: %s", said)
	said, _ = call("confirm", map[string]any{"message": "sure?"}, nil)
	check(strings.Contains(said, "decline"), "elicitation is asked and declined: %s", said)
	err = s.Close()
	check(err == nil, "closed: %v", err)
	if failed {
		os.Exit(1)
	}
}
