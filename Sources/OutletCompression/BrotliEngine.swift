internal import CBrotli

/// Decodes `br` (RFC 7932) with libbrotlidec.
final class BrotliEngine: ContentDecoder.Engine {
    private let state: OpaquePointer
    private(set) var isAtEnd = false

    init() throws(ContentDecoder.Failure) {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
            throw ContentDecoder.Failure(description: "br: no memory left")
        }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentDecoder.Failure) -> Int {
        if isAtEnd {
            try checkEnd(input)
            return 0
        }
        var available = input.count
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var room = output.count
        var target = output.bindMemory(to: UInt8.self).baseAddress
        let result = BrotliDecoderDecompressStream(
            state, &available, &next, &room, &target, nil)
        input = UnsafeRawBufferPointer(rebasing: input[(input.count - available)...])
        if result == BROTLI_DECODER_RESULT_SUCCESS {
            isAtEnd = true
            // If this call decoded bytes, it returns them, and the next call checks the end.
            if room == output.count { try checkEnd(input) }
        } else if result == BROTLI_DECODER_RESULT_ERROR {
            let code = BrotliDecoderGetErrorCode(state)
            throw ContentDecoder.Failure(
                description: "br: "
                    + (BrotliDecoderErrorString(code).map { String(cString: $0) } ?? "broken"))
        }
        return output.count - room
    }

    /// Throws if there is input after the end of the coded stream.
    private func checkEnd(_ input: UnsafeRawBufferPointer) throws(ContentDecoder.Failure) {
        guard !input.isEmpty else { return }
        throw ContentDecoder.Failure(
            description: "br: \(input.count) bytes follow the end of the coding")
    }
}
