module github.com/stator-runtime/stator/bindings/go/stator

go 1.24
