/// A Swift object as C code keeps it: the `void *` that callbacks are given back.
///
/// The one place where references are passed by hand, because C does not count them. Each pointer is
/// one of two kinds, which the function that makes it says: ``unretained(_:)`` or ``retained(_:)``.
package enum ObjectPointer {
    /// A pointer to an object that its Swift owner keeps for as long as C may call back.
    @inlinable package static func unretained(_ object: AnyObject) -> UnsafeMutableRawPointer {
        Unmanaged.passUnretained(object).toOpaque()
    }

    /// A pointer that keeps the object, until ``release(_:)`` or ``takeRetained(_:as:)``.
    @inlinable package static func retained(_ object: AnyObject) -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(object).toOpaque()
    }

    /// The object of a pointer that is lent or kept; of the type that it was made of.
    @inlinable package static func object<Object: AnyObject>(
        at pointer: UnsafeMutableRawPointer, as type: Object.Type = Object.self
    ) -> Object {
        Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Lets a kept object go, and returns it; the pointer is not used again.
    @inlinable package static func takeRetained<Object: AnyObject>(
        _ pointer: UnsafeMutableRawPointer, as type: Object.Type = Object.self
    ) -> Object {
        Unmanaged<Object>.fromOpaque(pointer).takeRetainedValue()
    }

    /// Lets a kept object go; the pointer is not used again.
    @inlinable package static func release(_ pointer: UnsafeMutableRawPointer) {
        Unmanaged<AnyObject>.fromOpaque(pointer).release()
    }

    /// Makes one more kept pointer of one, as where C has copied it.
    @inlinable package static func retain(_ pointer: UnsafeMutableRawPointer) {
        _ = Unmanaged<AnyObject>.fromOpaque(pointer).retain()
    }
}
