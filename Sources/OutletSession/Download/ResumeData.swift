public import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The data to resume an interrupted download with; encoded as JSON.
///
/// Contains the request's fields, credentials included, because they are sent again.
struct ResumeData: Sendable, Codable, Equatable {
    struct Field: Codable, Equatable {
        let name: String
        let value: String
        /// The bytes of the value if they are not UTF-8.
        var bytes: Data?

        init(_ header: HTTPHeader) {
            name = header.name
            value = header.value
            bytes = header.isLatin1 ? Data(header.valueBytes) : nil
        }

        var header: HTTPHeader {
            bytes.map { HTTPHeader(name: name, valueBytes: $0) }
                ?? HTTPHeader(name: name, value: value)
        }
    }

    /// The version of the format.
    private(set) var version = 1
    /// The requested URL before middleware and adapters, which are called again, and before any
    /// redirect, whose target may have expired.
    let url: URL
    /// The URL after middleware and adapters, if it is another one.
    let sentURL: URL?
    /// The request's own fields, before middleware and adapters.
    let headers: [Field]
    /// The strong `ETag`, else `Last-Modified`: sent as `If-Range` (RFC 9110 §13.1.5).
    let validator: String
    /// The number of bytes received so far.
    var bytesReceived: Int64
    /// The length of the content in bytes; `nil` if it is not known.
    var totalBytes: Int64?
    /// The path of the file with the bytes received so far.
    let file: String

    /// Makes resume data; `nil` if the rest cannot be requested safely: no `GET`, a `Range` field
    /// of the request's own, a status other than 200 and 206, no bytes, or no validator.
    ///
    /// - Parameters:
    ///   - request: The request, as sent.
    ///   - initial: The request before middleware and adapters; `nil` for the same.
    ///   - response: The head of its response.
    ///   - bytesReceived: The number of bytes received so far.
    ///   - totalBytes: The length of the content in bytes; `nil` if it is not known.
    ///   - file: The path of the file with the bytes received so far.
    init?(
        request: HTTPRequest?, before initial: HTTPRequest? = nil, response: HTTPResponse?,
        bytesReceived: Int64, totalBytes: Int64?, file: String
    ) {
        guard let request, let sentURL = request.url, request.method == .get,
            case let initial = initial ?? request, let url = initial.url, initial.method == .get,
            request.headers.values(for: "Range").isEmpty,
            let response, [200, 206].contains(response.statusCode), bytesReceived > 0,
            let validator = response.rangeValidator
        else { return nil }
        self.url = url
        self.sentURL = sentURL == url ? nil : sentURL
        self.headers = initial.headers.map(Field.init)
        self.validator = validator
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.file = file
    }

    /// Decodes the JSON made by ``encoded``.
    ///
    /// - Throws: ``ResumeDataError`` when it is not such JSON, has another version, or its
    ///   validator cannot be sent.
    init(_ data: Data) throws(ResumeDataError) {
        do {
            self = try JSONDecoder().decode(ResumeData.self, from: data)
        } catch {
            throw ResumeDataError(reason: SessionError.explain(decoding: error))
        }
        guard version == 1 else {
            throw ResumeDataError(reason: "version \(version), this library reads version 1")
        }
        guard isReturnable(validator) else {
            throw ResumeDataError(reason: "its validator cannot be sent")
        }
    }

    /// The data as JSON.
    var encoded: Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try? encoder.encode(self)
    }

    /// The request that started the download.
    var request: HTTPRequest {
        var request = HTTPRequest(url: url)
        for field in headers { request.headers.append(field.header) }
        return request
    }
}

/// The error of a download with resume data that cannot be read; the request fails with it inside
/// ``SessionError/createURLRequestFailed(error:)``.
public struct ResumeDataError: Error, CustomStringConvertible,
    LocalizedError
{
    let reason: String

    /// What is wrong with the data.
    public var description: String { "resume data: not usable: \(reason)" }

    /// The ``description``, for `localizedDescription`.
    public var errorDescription: String? { description }
}

/// A request made from resume data.
struct ResumedRequest: URLRequestConvertible {
    let data: Data

    func asURLRequest() throws -> HTTPRequest { try ResumeData(data).request }
}

extension HTTPResponse {
    /// A strong validator of this response that can be sent in a field; `nil` without one.
    fileprivate var rangeValidator: String? {
        statedValidator.flatMap { isReturnable($0) ? $0 : nil }
    }

    private var statedValidator: String? {
        guard headers.value(for: "Content-Encoding")?.equalsIgnoringCase("identity") != false,
            headers.value(for: "Accept-Ranges")?.equalsIgnoringCase("none") != true
        else { return nil }
        // With a weak tag the date is not exact either (RFC 9110 §13.1.5).
        let tags = headers.values(for: "ETag")
        if !tags.isEmpty { return tags.count == 1 && isStrongTag(tags[0]) ? tags[0] : nil }
        // Content modified in the second of the response may have changed again (RFC 9110
        // §8.8.2.2).
        guard let date = headers.value(for: "Last-Modified"),
            let modified = HTTPDate.parse(date),
            let sent = headers.value(for: "Date").flatMap(HTTPDate.parse), sent > modified
        else { return nil }
        return date
    }

    /// Whether a text is one strong entity tag (RFC 9110 §8.8.3).
    private func isStrongTag(_ text: String) -> Bool {
        let bytes = text.utf8
        let quote = UInt8(ascii: "\"")
        return bytes.count >= 2 && bytes.first == quote && bytes.last == quote
            && !bytes.dropFirst().dropLast().contains(quote)
    }
}
