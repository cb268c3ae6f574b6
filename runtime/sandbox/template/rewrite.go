package main

import (
	"reflect"
	"strconv"
	"strings"
	"text/template/parse"
)

// Functions that only rewriting calls.
const (
	hiddenPrefix  = "pintle"
	fieldFunction = hiddenPrefix + "Field"
	textFunction  = hiddenPrefix + "Text"
	printFunction = hiddenPrefix + "Print"
)

// rewriting gives a template the rule of missing keys: a chain of fields goes through a function that yields nil for a missing key
// and through nil, a nil for a string parameter becomes "", and a nil at the end of an action prints "". Nodes keep their places.
type rewriting struct {
	// refused is the first call of a function that is not there.
	refused *refusal
}

func (r *rewriting) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch node := node.(type) {
		case *parse.ActionNode:
			r.pipe(node.Pipe)
			if len(node.Pipe.Decl) == 0 {
				node.Pipe.Cmds = append(node.Pipe.Cmds, call(printFunction, node.Pipe.Pos))
			}
		case *parse.IfNode:
			r.branch(&node.BranchNode)
		case *parse.RangeNode:
			r.branch(&node.BranchNode)
		case *parse.WithNode:
			r.branch(&node.BranchNode)
		case *parse.TemplateNode:
			r.pipe(node.Pipe)
		}
	}
}

func (r *rewriting) branch(branch *parse.BranchNode) {
	r.pipe(branch.Pipe)
	r.list(branch.List)
	r.list(branch.ElseList)
}

func (r *rewriting) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	commands := make([]*parse.CommandNode, 0, len(pipe.Cmds)+1)
	for i, command := range pipe.Cmds {
		piped := i > 0
		r.command(command, piped)
		if piped && takesText(command.Args[0], len(command.Args)-1) {
			commands = append(commands, call(textFunction, command.Pos))
		}
		commands = append(commands, command)
	}
	pipe.Cmds = commands
}

func (r *rewriting) command(command *parse.CommandNode, piped bool) {
	for i, arg := range command.Args[1:] {
		arg = r.argument(arg)
		if takesText(command.Args[0], i) && !isLiteral(arg) {
			arg = pipeOf(call(textFunction, arg.Position(), arg))
		}
		command.Args[i+1] = arg
	}
	// A field with arguments is a method; Go says so where it is none.
	if len(command.Args) > 1 || piped {
		command.Args[0] = r.inner(command.Args[0])
		return
	}
	if field := r.field(command.Args[0]); field != nil {
		command.Args = field.Args
	} else {
		command.Args[0] = r.inner(command.Args[0])
	}
}

// argument is the node in place of an argument.
func (r *rewriting) argument(node parse.Node) parse.Node {
	if field := r.field(node); field != nil {
		return pipeOf(field)
	}
	return r.inner(node)
}

// field is the call in place of a chain of fields; nil for other nodes.
func (r *rewriting) field(node parse.Node) *parse.CommandNode {
	var receiver parse.Node
	var names []string
	switch node := node.(type) {
	case *parse.FieldNode:
		receiver, names = &parse.DotNode{NodeType: parse.NodeDot, Pos: node.Pos}, node.Ident
	case *parse.VariableNode:
		if len(node.Ident) == 1 {
			return nil
		}
		names = node.Ident[1:]
		receiver = &parse.VariableNode{NodeType: parse.NodeVariable, Pos: node.Pos, Ident: node.Ident[:1]}
	case *parse.ChainNode:
		receiver, names = r.argument(node.Node), node.Field
	default:
		return nil
	}
	at := place(node)
	args := []parse.Node{receiver}
	for _, name := range names {
		args = append(args, &parse.StringNode{
			NodeType: parse.NodeString, Pos: at, Quoted: strconv.Quote(name), Text: name,
		})
	}
	return call(fieldFunction, at, args...)
}

// place is where an expression begins. Go's own is at the second name of a chain.
func place(node parse.Node) parse.Pos {
	switch node := node.(type) {
	case *parse.FieldNode:
		if len(node.Ident) > 1 {
			return node.Pos - parse.Pos(len(".")+len(node.Ident[0]))
		}
	case *parse.VariableNode:
		if len(node.Ident) > 1 {
			return node.Pos - parse.Pos(len(node.Ident[0]))
		}
	}
	return node.Position()
}

// inner rewrites what is within a node that stays.
func (r *rewriting) inner(node parse.Node) parse.Node {
	switch node := node.(type) {
	case *parse.PipeNode:
		r.pipe(node)
	case *parse.ChainNode:
		node.Node = r.argument(node.Node)
	case *parse.IdentifierNode:
		r.refuse(node)
	}
	return node
}

func (r *rewriting) refuse(node *parse.IdentifierNode) {
	if r.refused != nil {
		return
	}
	if reason, absent := absent[node.Ident]; absent {
		r.refused = &refusal{at: node.Pos, message: "the function " + node.Ident + " is not there: " + reason}
	} else if strings.HasPrefix(node.Ident, hiddenPrefix) {
		r.refused = &refusal{at: node.Pos, message: "function " + strconv.Quote(node.Ident) + " not defined"}
	}
}

// takesText says whether a function wants a string, or makes one, of the argument at this index.
func takesText(function parse.Node, index int) bool {
	identifier, is := function.(*parse.IdentifierNode)
	if !is {
		return false
	}
	switch identifier.Ident {
	case "html", "js", "urlquery":
		return true
	case "include":
		return index == 0
	}
	known, is := functions[identifier.Ident]
	if !is {
		return false
	}
	kind := reflect.TypeOf(known)
	last := kind.NumIn() - 1
	if kind.IsVariadic() && index >= last {
		return kind.In(last).Elem().Kind() == reflect.String
	}
	return index <= last && kind.In(index).Kind() == reflect.String
}

func isLiteral(node parse.Node) bool {
	switch node.Type() {
	case parse.NodeString, parse.NodeNumber, parse.NodeBool, parse.NodeNil:
		return true
	}
	return false
}

func call(function string, at parse.Pos, args ...parse.Node) *parse.CommandNode {
	name := parse.NewIdentifier(function).SetPos(at)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: append([]parse.Node{name}, args...)}
}

func pipeOf(command *parse.CommandNode) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: command.Pos, Cmds: []*parse.CommandNode{command}}
}

// rewritten is how Go shows a node after rewriting.
func rewritten(node parse.Node) string {
	rewrite := rewriting{}
	switch node := node.(type) {
	case *parse.CommandNode:
		rewrite.command(node, false)
	case *parse.PipeNode:
		rewrite.pipe(node)
	case *parse.TemplateNode:
		rewrite.pipe(node.Pipe)
	default:
		if field := rewrite.field(node); field != nil {
			return field.String()
		}
	}
	return node.String()
}

// walk visits expressions, the outer ones last.
func walk(node parse.Node, visit func(parse.Node)) {
	branch := func(branch *parse.BranchNode) {
		walk(branch.Pipe, visit)
		walk(branch.List, visit)
		if branch.ElseList != nil {
			walk(branch.ElseList, visit)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, one := range node.Nodes {
			walk(one, visit)
		}
		return
	case *parse.ActionNode:
		walk(node.Pipe, visit)
	case *parse.IfNode:
		branch(&node.BranchNode)
	case *parse.RangeNode:
		branch(&node.BranchNode)
	case *parse.WithNode:
		branch(&node.BranchNode)
	case *parse.TemplateNode:
		if node.Pipe != nil {
			walk(node.Pipe, visit)
		}
		visit(node)
	case *parse.PipeNode:
		for _, command := range node.Cmds {
			walk(command, visit)
		}
		visit(node)
	case *parse.CommandNode:
		for _, arg := range node.Args {
			walk(arg, visit)
		}
		visit(node)
	case *parse.ChainNode:
		walk(node.Node, visit)
		visit(node)
	case *parse.FieldNode, *parse.VariableNode:
		visit(node)
	}
}
