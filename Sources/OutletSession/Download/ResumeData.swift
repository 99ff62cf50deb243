import FoundationEssentials
import OutletHTTP
import OutletTransport

/// What is needed to go on with a download that broke off; JSON on the outside.
///
/// Holds the request's fields, credentials too, as they are needed again.
struct ResumeData: Sendable, Codable, Equatable {
    struct Field: Codable, Equatable {
        let name: String
        let value: String
    }

    /// The format of this text.
    private(set) var version = 1
    /// The address that was asked for, before any redirect: those may have expired.
    let url: URL
    /// The request's own fields.
    let headers: [Field]
    /// The strong `ETag`, else `Last-Modified`: what `If-Range` asks about (RFC 9110 §13.1.5).
    let validator: String
    /// How many bytes the file holds.
    var bytesReceived: Int64
    /// How many there are in all, if that is known.
    var totalBytes: Int64?
    /// The path of the file with what has come so far.
    let file: String

    /// `nil` when nothing promises that the rest will fit to what is there.
    init?(
        request: HTTPRequest?, response: HTTPResponse?, bytesReceived: Int64, totalBytes: Int64?,
        file: String
    ) {
        guard let request, let url = request.url, request.method == .get,
            request.headers.values(for: "Range").isEmpty,
            let response, [200, 206].contains(response.statusCode), bytesReceived > 0,
            let validator = response.rangeValidator
        else { return nil }
        self.url = url
        self.headers = request.headers.map { Field(name: $0.name, value: $0.value) }
        self.validator = validator
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.file = file
    }

    /// Reads what ``encoded`` has written.
    ///
    /// - Throws: ``ResumeDataError``.
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

    /// The request that began the download.
    var request: HTTPRequest {
        var request = HTTPRequest(url: url)
        for field in headers { request.headers.append(name: field.name, value: field.value) }
        return request
    }
}

/// Why resume data cannot be used.
public struct ResumeDataError: Error, CustomStringConvertible {
    let reason: String

    /// What is wrong with the data.
    public var description: String { "resume data: not usable: \(reason)" }
}

/// A request read from resume data.
struct ResumedRequest: URLRequestConvertible {
    let data: Data

    func asURLRequest() throws -> HTTPRequest { try ResumeData(data).request }
}

extension HTTPResponse {
    /// What tells this body from all others at its address, byte by byte, and can be sent.
    fileprivate var rangeValidator: String? {
        statedValidator.flatMap { isReturnable($0) ? $0 : nil }
    }

    private var statedValidator: String? {
        guard headers.value(for: "Content-Encoding")?.equalsIgnoringCase("identity") != false,
            headers.value(for: "Accept-Ranges")?.equalsIgnoringCase("none") != true
        else { return nil }
        if let tag = headers.value(for: "ETag"), !tag.startsWithBytes(of: "W/") { return tag }
        // Within the second of its making, a body may have changed once more (RFC 9110 §8.8.2.2).
        guard let date = headers.value(for: "Last-Modified"), date != headers.value(for: "Date")
        else { return nil }
        return date
    }
}
