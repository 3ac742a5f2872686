module github.com/stator-runtime/stator/examples/vad/go

go 1.24

require github.com/stator-runtime/stator/bindings/go/stator v0.0.0

replace github.com/stator-runtime/stator/bindings/go/stator => ../../../bindings/go/stator
