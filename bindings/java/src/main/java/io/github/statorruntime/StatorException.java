package io.github.statorruntime;

/**
 * What the library reports. {@link #code} says what kind of trouble it is, the message what was expected and what
 * came, and the other parts where it happened; a part is empty where it does not apply.
 *
 * <pre>{@code
 * try {
 *   runtime.run(forward, arena);
 * } catch (StatorBusyException e) {
 *   // another thread is using the runtime or the arena
 * } catch (StatorException e) {
 *   log.error("{}: {}, at {}", e.codeName(), e.getMessage(), e.source());
 * }
 * }</pre>
 */
public class StatorException extends RuntimeException {
  /** A NULL handle, an index out of range, an unknown option, a wrong kind of value. */
  public static final int INVALID_ARGUMENT = 100;

  /** No such method, file or key. */
  public static final int NOT_FOUND = 101;

  /** The object is in use by another caller, or results of it are still exported. */
  public static final int BUSY = 102;

  /** A wait ended before its event. */
  public static final int TIMEOUT = 103;

  /** The process was forked after LibTorch was loaded. */
  public static final int FORKED = 104;

  /** Fewer inputs than the method requires. */
  public static final int INPUT_MISSING = 105;

  /** A tensor's rank or sizes are not what the signature or the operator takes. */
  public static final int SHAPE_MISMATCH = 106;

  /** A tensor's dtype is not what the signature or the operator takes. */
  public static final int DTYPE_MISMATCH = 107;

  /** An argument has another type than the method declares. */
  public static final int TYPE_MISMATCH = 108;

  /** A run that was cancelled before it began. */
  public static final int CANCELLED = 109;

  /** A file could not be read or written. */
  public static final int IO = 200;

  /** The file is damaged or holds no model. */
  public static final int BAD_MODEL = 201;

  /** A valid model or value that this version cannot run or carry. */
  public static final int UNSUPPORTED = 202;

  /** No LibTorch was found. */
  public static final int TORCH_NOT_FOUND = 300;

  /** The LibTorch found is not the one that this build needs. */
  public static final int TORCH_VERSION = 301;

  /** Raised by the model itself; the message is the model's. */
  public static final int MODEL_ERROR = 400;

  /** An operator refused its arguments. */
  public static final int OPERATOR_ERROR = 401;

  /** The cap set on the module would be exceeded. */
  public static final int MEMORY_LIMIT = 500;

  /** The system has no more memory. */
  public static final int OUT_OF_MEMORY = 501;

  /** A defect of Stator; please report it. */
  public static final int INTERNAL = 600;

  private static final long serialVersionUID = 1;

  /** The kind of trouble. */
  private final int code;

  /** The operator, or "". */
  private final String operator;

  /** The node of the plan, or "". */
  private final String node;

  /** The source line, or "". */
  private final String source;

  /** The argument, or "". */
  private final String argument;

  StatorException(int code, String message, String operator, String node, String source, String argument) {
    super(message);
    this.code = code;
    this.operator = operator;
    this.node = node;
    this.source = source;
    this.argument = argument;
  }

  static StatorException make(
      int code,
      String message,
      String operator,
      String node,
      String source,
      String argument,
      String exception) {
    return switch (code) {
      case BUSY, TIMEOUT -> new StatorBusyException(code, message, operator, node, source, argument);
      case INPUT_MISSING, SHAPE_MISMATCH, DTYPE_MISMATCH, TYPE_MISMATCH ->
          new StatorInputException(code, message, operator, node, source, argument);
      case IO, BAD_MODEL -> new StatorLoadException(code, message, operator, node, source, argument);
      case TORCH_NOT_FOUND, TORCH_VERSION -> new StatorTorchException(code, message, operator, node, source, argument);
      case MODEL_ERROR ->
          new StatorModelException(code, message, operator, node, source, argument, exception);
      default -> new StatorException(code, message, operator, node, source, argument);
    };
  }

  static StatorException invalidArgument(String message) {
    return new StatorException(INVALID_ARGUMENT, message, "", "", "", "");
  }

  static StatorException unsupported(String message) {
    return new StatorException(UNSUPPORTED, message, "", "", "", "");
  }

  /**
   * The code, one of the constants of this class or one that a later library added.
   *
   * @return the code
   */
  public int code() {
    return code;
  }

  /**
   * The name of the code, as in "SHAPE_MISMATCH".
   *
   * @return the name, "UNKNOWN" for a code that the library does not know
   */
  public String codeName() {
    return Scratch.read(Native.stator_status_name(code));
  }

  /**
   * The operator concerned, as in "aten::bmm".
   *
   * @return its name, or ""
   */
  public String operator() {
    return operator;
  }

  /**
   * The node of the plan, as {@code stator plan} numbers it.
   *
   * @return the node, or ""
   */
  public String node() {
    return node;
  }

  /**
   * The model's own source line, as in {@code model.py:41 "torch.bmm(a, b)"}.
   *
   * @return the line, or ""
   */
  public String source() {
    return source;
  }

  /**
   * The argument concerned, as in {@code input "user_emb" (argument 2)}.
   *
   * @return the argument, or ""
   */
  public String argument() {
    return argument;
  }
}
