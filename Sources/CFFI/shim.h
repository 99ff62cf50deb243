#include <ffi.h>

/* libffi's type descriptions are mutable global variables, which Swift 6 rejects as not concurrency-safe.
 * Calls never write to them, so their addresses may be used on any thread. */
static inline ffi_type *outlet_ffi_void(void) { return &ffi_type_void; }
static inline ffi_type *outlet_ffi_uint8(void) { return &ffi_type_uint8; }
static inline ffi_type *outlet_ffi_sint32(void) { return &ffi_type_sint32; }
static inline ffi_type *outlet_ffi_uint32(void) { return &ffi_type_uint32; }
static inline ffi_type *outlet_ffi_sint64(void) { return &ffi_type_sint64; }
static inline ffi_type *outlet_ffi_uint64(void) { return &ffi_type_uint64; }
static inline ffi_type *outlet_ffi_double(void) { return &ffi_type_double; }
static inline ffi_type *outlet_ffi_pointer(void) { return &ffi_type_pointer; }
