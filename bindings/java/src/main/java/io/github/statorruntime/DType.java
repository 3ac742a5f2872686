package io.github.statorruntime;

import java.util.Locale;

/** Types of a tensor's elements, named as PyTorch names them. */
public enum DType {
  /** 8-bit integer. */
  INT8(0x0800),
  /** 16-bit integer. */
  INT16(0x1000),
  /** 32-bit integer. */
  INT32(0x2000),
  /** 64-bit integer. */
  INT64(0x4000),
  /** 8-bit unsigned integer. */
  UINT8(0x0801),
  /** 16-bit unsigned integer. */
  UINT16(0x1001),
  /** 32-bit unsigned integer. */
  UINT32(0x2001),
  /** 64-bit unsigned integer. */
  UINT64(0x4001),
  /** IEEE half precision. */
  FLOAT16(0x1002),
  /** IEEE single precision, Java's float. */
  FLOAT32(0x2002),
  /** IEEE double precision, Java's double. */
  FLOAT64(0x4002),
  /** The upper half of a float32. */
  BFLOAT16(0x1004),
  /** A pair of float16. */
  COMPLEX32(0x2005),
  /** A pair of float32. */
  COMPLEX64(0x4005),
  /** A pair of float64. */
  COMPLEX128(0x8005),
  /** One byte, 0 or 1. */
  BOOL(0x0806),
  /** 8-bit float, 4 bits of exponent, finite. */
  FLOAT8_E4M3FN(0x080a),
  /** 8-bit float, 4 bits of exponent, finite, one zero. */
  FLOAT8_E4M3FNUZ(0x080b),
  /** 8-bit float, 5 bits of exponent. */
  FLOAT8_E5M2(0x080c),
  /** 8-bit float, 5 bits of exponent, finite, one zero. */
  FLOAT8_E5M2FNUZ(0x080d),
  /** 8-bit float, exponent only. */
  FLOAT8_E8M0FNU(0x080e);

  final int code;

  DType(int code) {
    this.code = code;
  }

  static DType of(int code) {
    for (DType dtype : values()) {
      if (dtype.code == code) {
        return dtype;
      }
    }
    throw StatorException.unsupported("this binding does not know the dtype 0x" + Integer.toHexString(code));
  }

  /**
   * The size of an element.
   *
   * @return bytes
   */
  public int bytes() {
    return (code >> 8) / 8;
  }

  /** The name as PyTorch spells it without "torch.", as in "float32". */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
