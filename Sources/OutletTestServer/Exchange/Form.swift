import OutletPointers

internal import CMicroHTTPD

/// The fields and files of an `application/x-www-form-urlencoded` or `multipart/form-data` body.
struct Form {
    private(set) var fields: [(name: String, value: String)] = []
    private(set) var files: [(name: String, value: String)] = []

    var isEmpty: Bool { fields.isEmpty && files.isEmpty }

    /// Creates an empty form.
    init() {}

    /// Parses a complete body; the form is empty if the request's content type is not a form's.
    init(body: [UInt8], connection: OpaquePointer) {
        let collector = Collector()
        let context = ObjectPointer.unretained(collector)
        guard let processor = MHD_create_post_processor(connection, 64 * 1024, collect, context)
        else { return }
        body.withUnsafeBytes { bytes in
            let text = bytes.bindMemory(to: CChar.self)
            _ = MHD_post_process(processor, text.baseAddress, text.count)
        }
        // libmicrohttpd reports the last field only in this call.
        MHD_destroy_post_processor(processor)
        for part in collector.parts {
            let value = String(decoding: part.value, as: UTF8.self)
            if part.isFile {
                files.append((part.name, value))
            } else {
                fields.append((part.name, value))
            }
        }
    }
}

/// Collects the parts of a form; libmicrohttpd may report a part's value in pieces.
private final class Collector {
    var parts: [(name: String, isFile: Bool, value: [UInt8])] = []
}

private let collect: MHD_PostDataIterator = {
    context, _, name, filename, _, _, data, offset, size in
    guard let context, let name else { return .YES }
    let collector = ObjectPointer.object(at: context, as: Collector.self)
    if offset == 0 {
        collector.parts.append((String(cString: name), filename != nil, []))
    }
    if let data, !collector.parts.isEmpty {
        let bytes = UnsafeRawBufferPointer(start: data, count: size)
        collector.parts[collector.parts.count - 1].value.append(contentsOf: bytes)
    }
    return .YES
}
