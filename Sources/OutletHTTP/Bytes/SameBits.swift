/// Whether two values have the same bits, so that they are copies of one value: a few instructions,
/// also for collections.
///
/// Values whose bits differ may be equal, and those with padding may be copies.
@inlinable @inline(__always) package func haveSameBits<Value>(_ a: Value, _ b: Value) -> Bool {
    withUnsafeBytes(of: a) { a in
        withUnsafeBytes(of: b) { b in
            let (word, size) = (MemoryLayout<UInt>.size, MemoryLayout<Value>.size)
            return size % word == 0
                && stride(from: 0, to: size, by: word).allSatisfy { offset in
                    a.loadUnaligned(fromByteOffset: offset, as: UInt.self)
                        == b.loadUnaligned(fromByteOffset: offset, as: UInt.self)
                }
        }
    }
}
