/// Converts Swift objects to and from the `void *` that C code stores and passes to callbacks.
///
/// All manual reference counting is here. A pointer either owns no reference, as from
/// ``unretained(_:)``, or owns one, as from ``retained(_:)``.
@usableFromInline package enum ObjectPointer {
    /// Returns a pointer that owns no reference; a Swift owner must keep the object alive for as
    /// long as C may use the pointer.
    @inlinable package static func unretained(_ object: AnyObject) -> UnsafeMutableRawPointer {
        Unmanaged.passUnretained(object).toOpaque()
    }

    /// Returns a pointer that owns a reference, until ``release(_:)`` or ``takeRetained(_:as:)``.
    @inlinable package static func retained(_ object: AnyObject) -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(object).toOpaque()
    }

    /// Returns the object of a pointer of either kind; a reference that the pointer owns stays its
    /// own.
    ///
    /// `Object` must be the class of the object or a superclass; this is not checked.
    @inlinable package static func object<Object: AnyObject>(
        at pointer: UnsafeMutableRawPointer, as type: Object.Type = Object.self
    ) -> Object {
        Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Calls `body` with the object of a pointer of either kind, without retaining it.
    ///
    /// A Swift owner must keep the object alive until `body` returns. For callbacks that are called
    /// for each message or response: to retain and release costs more than what some of them do.
    @inlinable package static func withObject<Object: AnyObject, Result>(
        at pointer: UnsafeMutableRawPointer, as type: Object.Type = Object.self,
        _ body: (Object) -> Result
    ) -> Result {
        Unmanaged<Object>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
    }

    /// Returns the object of a pointer that owns a reference, and takes over that reference.
    ///
    /// The pointer must not be used again.
    @inlinable package static func takeRetained<Object: AnyObject>(
        _ pointer: UnsafeMutableRawPointer, as type: Object.Type = Object.self
    ) -> Object {
        Unmanaged<Object>.fromOpaque(pointer).takeRetainedValue()
    }

    /// Releases the reference that a pointer owns; the pointer must not be used again.
    @inlinable package static func release(_ pointer: UnsafeMutableRawPointer) {
        Unmanaged<AnyObject>.fromOpaque(pointer).release()
    }

    /// Retains the object once more, for a copy of the pointer that C has made.
    @inlinable package static func retain(_ pointer: UnsafeMutableRawPointer) {
        _ = Unmanaged<AnyObject>.fromOpaque(pointer).retain()
    }
}
