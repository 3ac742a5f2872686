package io.github.statorruntime;

/**
 * The functions of stator.h, one to one: handles, statuses, pointers and texts are addresses. JNA maps them directly,
 * so that a call makes no object.
 */
final class Native {
  static {
    com.sun.jna.Native.register(Native.class, Library.open());
    Library.checkVersion(stator_abi_version());
  }

  private Native() {}

  // library
  static native int stator_abi_version();

  static native long stator_torch_load(long path);

  static native long stator_build_info(long out);

  static native long stator_live_handles(int kind);

  static native long stator_log_set(long callback, long context, int level);

  static native long stator_log_collect(int level, long capacity);

  static native long stator_log_next(long timeoutNs, long level, long message);

  static native long stator_metrics_prometheus(long out);

  static native long stator_dtype_name(int dtype);

  // status
  static native int stator_status_code(long status);

  static native long stator_status_message(long status);

  static native long stator_status_operator(long status);

  static native long stator_status_node(long status);

  static native long stator_status_source(long status);

  static native long stator_status_argument(long status);

  static native long stator_status_exception(long status);

  static native long stator_status_name(int code);

  static native void stator_status_release(long status);

  // bytes
  static native long stator_bytes_data(long bytes);

  static native long stator_bytes_size(long bytes);

  static native void stator_bytes_release(long bytes);

  // options
  static native long stator_options_create(long out);

  static native long stator_options_set_int(long options, long key, long value);

  static native long stator_options_set_double(long options, long key, double value);

  static native long stator_options_set_str(long options, long key, long value);

  static native long stator_options_set_launcher(long options, long launch, long context);

  static native void stator_options_release(long options);

  // module
  static native long stator_module_load(long path, long options, long out);

  static native long stator_module_load_bytes(long data, long size, long options, long out);

  static native long stator_module_load_shared(
      long data, long size, long release, long context, long options, long out);

  static native void stator_module_retain(long module);

  static native void stator_module_release(long module);

  static native int stator_module_method_count(long module);

  static native long stator_module_get_method(long module, int index);

  static native long stator_module_find_method(long module, long name, long out);

  static native long stator_module_describe(long module, long out);

  static native long stator_module_save(long module, long path, long options);

  static native long stator_module_warm_up(long module, long method, long signature, long options);

  static native long stator_module_trim(long module);

  static native long stator_module_metrics(long module, long out);

  // method
  static native long stator_method_name(long method);

  static native int stator_method_input_count(long method);

  static native long stator_method_input_name(long method, int index);

  static native long stator_method_input_type(long method, int index);

  static native int stator_method_input_written(long method, int index);

  static native int stator_method_output_count(long method);

  static native long stator_method_graph(long method, long out);

  static native long stator_method_plan(long method, long out);

  static native long stator_method_plan_svg(long method, long out);

  // runtime
  static native long stator_runtime_create(long module, long options, long out);

  static native long stator_runtime_clone(long runtime, long out);

  static native long stator_runtime_reset_state(long runtime);

  static native void stator_runtime_retain(long runtime);

  static native void stator_runtime_release(long runtime);

  static native long stator_runtime_bind(
      long runtime, long method, int index, long data, int dtype, int device, int ndim, long shape, long strides);

  static native long stator_runtime_bind_dlpack(long runtime, long method, int index, long tensor);

  static native long stator_runtime_bind_value(long runtime, long method, int index, long value);

  static native long stator_runtime_input(
      long runtime, long method, int index, int dtype, int ndim, long shape, long out);

  static native long stator_runtime_bind_output(
      long runtime, long method, int index, long data, int dtype, int device, int ndim, long shape, long strides);

  static native long stator_runtime_unbind(long runtime, long method);

  static native long stator_runtime_run(long runtime, long method, long arena);

  static native long stator_runtime_call(long runtime, long method, long args, long kwargs, long arena, long out);

  static native long stator_runtime_run_async(
      long runtime, long method, long arena, long queue, long tag, long out);

  static native long stator_runtime_call_async(
      long runtime, long method, long args, long kwargs, long arena, long queue, long tag, long out);

  static native long stator_runtime_trim(long runtime);

  static native long stator_runtime_workspace_bytes(long runtime);

  // arena
  static native long stator_arena_create(long module, long options, long out);

  static native void stator_arena_retain(long arena);

  static native void stator_arena_release(long arena);

  static native long stator_arena_reset(long arena);

  static native long stator_arena_trim(long arena);

  static native long stator_arena_generation(long arena);

  static native long stator_arena_bytes(long arena);

  static native int stator_arena_output_count(long arena);

  static native long stator_arena_output(
      long arena, int index, long data, long dtype, long device, long ndim, long shape, long strides);

  static native long stator_arena_result(long arena, long out);

  static native long stator_arena_export(long arena, int index, long out);

  static native long stator_arena_export_legacy(long arena, int index, long out);

  // op
  static native long stator_op_library_load(long path);

  // pool
  static native long stator_pool_create(long module, long options, long out);

  static native void stator_pool_retain(long pool);

  static native void stator_pool_release(long pool);

  static native long stator_pool_acquire(long pool, long timeoutNs, long out);

  static native long stator_pool_return(long pool, long runtime);

  static native long stator_pool_call(
      long pool, long timeoutNs, long method, long args, long kwargs, long arena, long out);

  static native long stator_pool_metrics(long pool, long out);

  static native long stator_pool_trim(long pool);

  static native int stator_pool_runtime_count(long pool);

  // future
  static native void stator_future_retain(long future);

  static native void stator_future_release(long future);

  static native long stator_future_wait(long future, long timeoutNs);

  static native int stator_future_done(long future);

  static native long stator_future_result(long future, long out);

  static native int stator_future_cancel(long future);

  static native long stator_future_tag(long future);

  // queue
  static native long stator_queue_create(long out);

  static native void stator_queue_retain(long queue);

  static native void stator_queue_release(long queue);

  static native long stator_queue_next(long queue, long timeoutNs, long out);

  static native int stator_queue_fd(long queue);

  // profile
  static native long stator_profile_start(long runtime, long eventLimit);

  static native long stator_profile_stop(long runtime);

  static native long stator_profile_text(long runtime, long out);

  static native long stator_profile_json(long runtime, long out);

  static native long stator_profile_trace(long runtime, long out);

  // value
  static native long stator_value_create_none(long out);

  static native long stator_value_create_bool(int value, long out);

  static native long stator_value_create_int(long value, long out);

  static native long stator_value_create_float(double value, long out);

  static native long stator_value_create_complex(double real, double imag, long out);

  static native long stator_value_create_str(long data, long size, long out);

  static native long stator_value_create_device(long name, long out);

  static native long stator_value_create_tensor(
      long data, int dtype, int device, int ndim, long shape, long strides, long out);

  static native long stator_value_create_tensor_shared(
      long data, int dtype, int device, int ndim, long shape, long strides, long release, long context, long out);

  static native long stator_value_from_dlpack(long tensor, long out);

  static native long stator_value_from_dlpack_legacy(long tensor, long out);

  static native long stator_value_create_list(long items, long count, long out);

  static native long stator_value_create_tuple(long items, long count, long names, long out);

  static native long stator_value_create_dict(long keys, long items, long count, long out);

  static native void stator_value_retain(long value);

  static native void stator_value_release(long value);

  static native int stator_value_kind(long value);

  static native long stator_value_size(long value);

  static native long stator_value_item(long value, long index, long out);

  static native long stator_value_key(long value, long index, long out);

  static native long stator_value_field(long value, long index);

  static native long stator_value_as_bool(long value, long out);

  static native long stator_value_as_int(long value, long out);

  static native long stator_value_as_float(long value, long out);

  static native long stator_value_as_complex(long value, long real, long imag);

  static native long stator_value_as_str(long value, long data, long size);

  static native long stator_value_as_tensor(
      long value, long data, long dtype, long device, long ndim, long shape, long strides);

  static native long stator_value_export(long value, long out);

  static native long stator_value_export_legacy(long value, long out);

  static native long stator_value_read(long path, long out);

  static native long stator_value_write(long value, long path);
}
