// Precompiled for every file of the core. LibTorch's headers only: touching one of ours must not rebuild everything.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <string>
#include <vector>
