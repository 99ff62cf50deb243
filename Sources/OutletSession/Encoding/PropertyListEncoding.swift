public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Encodes parameters into the body as a property list.
///
/// Accepts strings, `Bool`, numbers, `Date`, `Data`, and arrays and dictionaries of these. Sets
/// `Content-Type: application/x-plist` unless the request has a `Content-Type`.
public struct PropertyListEncoding: ParameterEncoding {
    /// How a property list is written.
    public typealias Format = PropertyListDecoder.PropertyListFormat

    /// A value that cannot be written to a property list.
    public enum Error: Swift.Error, Equatable {
        /// The value at this path has a type that property lists do not support, or is `nil`.
        case unsupportedValue(path: String, type: String)
        /// The text at this path, or a name in the dictionary there, has a character that XML does
        /// not have, such as U+0000 (XML 1.0 §2.2).
        case unsupportedCharacter(path: String, code: UInt32)
    }

    /// As XML.
    public static var `default`: PropertyListEncoding { PropertyListEncoding() }
    /// As XML.
    public static var xml: PropertyListEncoding { PropertyListEncoding(format: .xml) }
    /// In the binary format.
    public static var binary: PropertyListEncoding { PropertyListEncoding(format: .binary) }

    /// How the property list is written.
    public let format: Format

    /// Makes an encoding.
    ///
    /// - Parameter format: How property lists are written.
    public init(format: Format = .xml) {
        self.format = format
    }

    /// Returns the request with the parameters as its body.
    ///
    /// - Parameters:
    ///   - urlRequest: The request; a `Content-Type` that it has is kept.
    ///   - parameters: The members of the root dictionary; `nil` leaves the request unchanged.
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `customEncodingFailed` when
    ///   a value cannot be written (``Error/unsupportedValue(path:type:)``,
    ///   ``Error/unsupportedCharacter(path:code:)``); what `urlRequest` throws.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        do {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            let root = try PropertyListNode(parameters, path: "$", isXML: format == .xml)
            let list = try encoder.encode(root)
            request.httpBody = format == .xml ? list.keepingCarriageReturns : list
        } catch {
            throw SessionError.parameterEncodingFailed(reason: .customEncodingFailed(error: error))
        }
        request.setMissingContentType("application/x-plist")
        return request
    }
}

extension PropertyListEncoding.Error: CustomStringConvertible {
    /// The path, the type, and the types that are supported.
    public var description: String {
        switch self {
        case .unsupportedValue(let path, let type):
            "\(path): not a property list: \(type) (use strings, Bool, numbers, Date, Data, arrays and dictionaries)"
        case .unsupportedCharacter(let path, let code):
            "\(path): XML has no character U+\(Self.digits(of: code)) (use the binary format, or Data)"
        }
    }

    private static func digits(of code: UInt32) -> String {
        let digits = String(code, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}

extension Data {
    /// A property list in XML with carriage returns as references, because parsers read others as
    /// line feeds (XML 1.0 §2.11).
    ///
    /// Foundation ends its own lines with a line feed.
    fileprivate var keepingCarriageReturns: Data {
        guard contains(0x0D) else { return self }
        return Data(
            split(separator: 0x0D, omittingEmptySubsequences: false)
                .joined(separator: Data("&#13;".utf8)))
    }
}

extension Unicode.Scalar {
    /// Whether XML has this character (XML 1.0 §2.2).
    fileprivate var isInXML: Bool {
        switch value {
        case 0x9, 0xA, 0xD: true
        case 0..<0x20, 0xFFFE, 0xFFFF: false
        default: true
        }
    }
}

/// A property list value made from a value whose type is known at run time only.
private enum PropertyListNode: Encodable {
    case scalar(any Encodable)
    case array([PropertyListNode])
    case dictionary([String: PropertyListNode])

    /// Makes a node.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - path: The names and indices that lead to it.
    ///   - isXML: Whether to refuse characters that XML does not have.
    init(_ value: Any, path: String, isXML: Bool) throws(PropertyListEncoding.Error) {
        if let scalar = FoundationScalar(value) {
            guard let value = scalar.encodable else {
                throw .unsupportedValue(path: path, type: "\(type(of: value))")
            }
            self = .scalar(value)
            return
        }
        switch value {
        case let value as any AnyOptional:
            guard let wrapped = value.wrapped else {
                throw .unsupportedValue(path: path, type: "nil")
            }
            self = try PropertyListNode(wrapped, path: path, isXML: isXML)
        case let value as String:
            if isXML { try Self.check(value, path) }
            self = .scalar(value)
        case let value as Bool: self = .scalar(value)
        case let value as Date: self = .scalar(value)
        case let value as Data: self = .scalar(value)
        case let value as any BinaryInteger:
            // The encoder knows no wider ones, and its error would contain all parameters.
            if let value = Int64(exactly: value) {
                self = .scalar(value)
            } else if let value = UInt64(exactly: value) {
                self = .scalar(value)
            } else {
                throw .unsupportedValue(path: path, type: "\(type(of: value)) of over 64 bits")
            }
        case let value as any BinaryFloatingPoint & Encodable: self = .scalar(value)
        case let members as [String: Any]:
            var nodes: [String: PropertyListNode] = [:]
            for (name, value) in members {
                if isXML { try Self.check(name, path) }
                nodes[name] = try PropertyListNode(value, path: "\(path).\(name)", isXML: isXML)
            }
            self = .dictionary(nodes)
        case let elements as [Any]:
            var nodes: [PropertyListNode] = []
            for (index, element) in elements.enumerated() {
                nodes.append(
                    try PropertyListNode(element, path: "\(path)[\(index)]", isXML: isXML))
            }
            self = .array(nodes)
        default: throw .unsupportedValue(path: path, type: "\(type(of: value))")
        }
    }

    private static func check(
        _ text: String, _ path: String
    ) throws(PropertyListEncoding.Error) {
        guard let scalar = text.unicodeScalars.first(where: { !$0.isInXML }) else { return }
        throw .unsupportedCharacter(path: path, code: scalar.value)
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .scalar(let value):
            // The encoder recognizes `Date` and `Data` only when they are passed to it directly.
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .array(let nodes): try nodes.encode(to: encoder)
        case .dictionary(let nodes): try nodes.encode(to: encoder)
        }
    }
}

extension FoundationScalar {
    /// The value as a type of the standard library; `nil` for null, which property lists do not
    /// have.
    fileprivate var encodable: (any Encodable)? {
        switch self {
        case .null: nil
        case .bool(let value): value
        case .number(let text):
            if let value = Int64(text) {
                value
            } else if let value = UInt64(text) {
                value
            } else {
                Double(text)
            }
        }
    }
}
