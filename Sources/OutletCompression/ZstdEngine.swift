internal import CZstd

/// Decodes `zstd` (RFC 8878, with any number of frames) with libzstd.
final class ZstdEngine: ContentDecoder.Engine {
    private let stream: OpaquePointer
    private(set) var isAtEnd = false
    private var isFrameEmpty = true
    private var emptyFrames = EmptyMembers()

    init() throws(ContentDecoder.Failure) {
        guard let stream = ZSTD_createDStream() else {
            throw ContentDecoder.Failure(description: "zstd: no memory left")
        }
        self.stream = stream
        // Limits the window, and so the memory, to 8 MiB: servers must not use more (RFC 9659 §3).
        ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 23)
    }

    deinit { ZSTD_freeDStream(stream) }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecoder.Failure) -> Int {
        var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        defer { input = UnsafeRawBufferPointer(rebasing: input[source.pos...]) }
        while target.pos < target.size {
            if isAtEnd, source.pos == source.size { break }
            let (before, written) = (source.pos, target.pos)
            let left = ZSTD_decompressStream(stream, &target, &source)
            guard ZSTD_isError(left) == 0 else {
                throw ContentDecoder.Failure(
                    description: "zstd: \(String(cString: ZSTD_getErrorName(left)))")
            }
            isAtEnd = left == 0
            if source.pos == before, target.pos == written { break }
            if target.pos > written { isFrameEmpty = false }
            if isAtEnd {
                try emptyFrames.end(isEmpty: isFrameEmpty, "zstd")
                isFrameEmpty = true
            }
        }
        return target.pos
    }
}
