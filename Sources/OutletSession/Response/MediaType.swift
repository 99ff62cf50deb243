import OutletHTTP

/// A media type or range (RFC 9110 §8.3.1, §12.5.1) without its parameters.
struct MediaType: Equatable {
    let type: Substring
    let subtype: Substring

    /// Parses a media type; `nil` unless it has exactly a type and a subtype.
    init?(_ text: String) {
        let essence = text.prefix(whileByte: { $0 != UInt8(ascii: ";") }).parts(separatedBy: "/")
            .map(\.trimmingBlanks)
        guard essence.count == 2, !essence[0].isEmpty, !essence[1].isEmpty else { return nil }
        type = essence[0]
        subtype = essence[1]
    }

    var isAny: Bool { type == "*" && subtype == "*" }

    func matches(_ other: MediaType) -> Bool {
        (type == "*" || type.equalsIgnoringCase(other.type))
            && (subtype == "*" || subtype.equalsIgnoringCase(other.subtype))
    }

    /// Checks a response's `Content-Type` against acceptable types and ranges.
    ///
    /// - Parameter isEmpty: Whether the body is empty: then any `Content-Type` is accepted, or
    ///   none.
    static func validate(
        _ acceptable: [String], _ response: HTTPResponse, isEmpty: Bool
    ) -> Result<Void, any Error> {
        guard !isEmpty else { return .success(()) }
        let ranges = acceptable.compactMap(MediaType.init)
        guard let name = response.mimeType, let type = MediaType(name) else {
            guard !ranges.contains(where: \.isAny) else { return .success(()) }
            return .failure(
                SessionError.responseValidationFailed(
                    reason: .missingContentType(acceptableContentTypes: acceptable.sorted())))
        }
        guard !ranges.contains(where: { $0.matches(type) }) else { return .success(()) }
        return .failure(
            SessionError.responseValidationFailed(
                reason: .unacceptableContentType(
                    acceptableContentTypes: acceptable.sorted(), responseContentType: name)))
    }
}
