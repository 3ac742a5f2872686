package io.github.statorruntime;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A method of a module: {@code forward}, or any other that the file exports. It needs no closing. */
public final class StatorMethod {
  /** Valid while the module, or anything made from it, lives. */
  final long address;

  final Object identity;
  private final StatorModule module;

  private final String name;
  private final List<String> inputNames;
  private final List<String> inputTypes;
  private final boolean[] written;
  private final int outputCount;

  /** The module is in use. */
  StatorMethod(long address, StatorModule module, Object identity) {
    this.address = address;
    this.module = module;
    this.identity = identity;
    name = Scratch.read(Native.stator_method_name(address));
    int count = Native.stator_method_input_count(address);
    List<String> names = new ArrayList<>();
    List<String> types = new ArrayList<>();
    written = new boolean[count];
    for (int i = 0; i < count; i++) {
      names.add(Scratch.read(Native.stator_method_input_name(address, i)));
      types.add(Scratch.read(Native.stator_method_input_type(address, i)));
      written[i] = Native.stator_method_input_written(address, i) != 0;
    }
    inputNames = List.copyOf(names);
    inputTypes = List.copyOf(types);
    outputCount = Native.stator_method_output_count(address);
  }

  /**
   * The name.
   *
   * @return the name
   */
  public String name() {
    return name;
  }

  /**
   * The inputs' names, those with defaults included.
   *
   * @return the names in order
   */
  public List<String> inputNames() {
    return inputNames;
  }

  /**
   * The inputs' types, as TorchScript spells them: "Tensor", "int", "Optional[Tensor]".
   *
   * @return the types in order
   */
  public List<String> inputTypes() {
    return inputTypes;
  }

  /**
   * Whether the method writes into the caller's tensor at an input.
   *
   * @param index from 0
   * @return true if it does; false also if there is no such input
   */
  public boolean inputWritten(int index) {
    return index >= 0 && index < written.length && written[index];
  }

  /**
   * How many tensors the result holds, counted depth first.
   *
   * @return the count, -1 if it depends on the run
   */
  public int outputCount() {
    return outputCount;
  }

  /**
   * The graph after all passes.
   *
   * @return text
   */
  public String graph() {
    module.enter();
    try {
      return Status.text(out -> Native.stator_method_graph(address, out));
    } finally {
      module.exit();
    }
  }

  /**
   * Makes the plan for inputs of these shapes before anybody runs on them, for the runtimes of plain calls and pools.
   *
   * @param signature as in {@link #warmUp(String, StatorOptions)}
   */
  public void warmUp(String signature) {
    warmUp(signature, null);
  }

  /**
   * Makes the plan for inputs of these shapes before anybody runs on them, by one run on zeros and a copy of the state.
   *
   * @param signature dtype and all sizes of each tensor, as in {@code x: float32[8, 128], steps = 3, mask = none}
   * @param options null, or those of the runtimes that will run, as {@code intra_op_threads}
   */
  public void warmUp(String signature, StatorOptions options) {
    long owner = module.enter();
    try (Scratch text = Scratch.text(signature)) {
      Status.check(StatorOptions.pass(options,
          o -> Native.stator_module_warm_up(owner, address, Scratch.address(text), o)));
    } finally {
      module.exit();
    }
  }

  /**
   * The dynamic plan: every node with the kind of implementation chosen and why, and the memory.
   *
   * @return JSON
   */
  public String plan() {
    module.enter();
    try {
      return Status.text(out -> Native.stator_method_plan(address, out));
    } finally {
      module.exit();
    }
  }

  /**
   * A picture of the memory that the plan gives its tensors, as the runs so far have sized them.
   *
   * @return an SVG document
   */
  public String planSvg() {
    module.enter();
    try {
      return Status.text(out -> Native.stator_method_plan_svg(address, out));
    } finally {
      module.exit();
    }
  }

  /**
   * Calls the method as {@link StatorModule#call} does.
   *
   * @param args positional arguments
   * @return the result
   */
  public Object call(Object... args) {
    return module.call(this, null, args);
  }

  /**
   * Calls the method as {@link StatorModule#call} does.
   *
   * @param kwargs arguments by name, null for none
   * @param args positional arguments
   * @return the result
   */
  public Object callWith(Map<String, ?> kwargs, Object... args) {
    return module.call(this, kwargs, args);
  }

  @Override
  public String toString() {
    return name;
  }
}
