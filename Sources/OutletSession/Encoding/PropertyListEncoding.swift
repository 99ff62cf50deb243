public import FoundationEssentials
public import OutletHTTP
import OutletTransport

/// Puts parameters into the body as a property list.
///
/// Takes strings, `Bool`, numbers, `Date`, `Data`, and arrays and dictionaries of these. The body
/// gets the type `application/x-plist` unless the request names one.
public struct PropertyListEncoding: ParameterEncoding {
    /// How a property list is written.
    public typealias Format = PropertyListDecoder.PropertyListFormat

    /// Why a value is not a property list.
    public enum Error: Swift.Error, Equatable {
        /// The value at this path is of a type that property lists have not; `nil` among them.
        case unsupportedValue(path: String, type: String)
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
    public init(format: Format = .xml) {
        self.format = format
    }

    /// The request with the parameters as its body.
    ///
    /// - Throws: ``SessionError/parameterEncodingFailed(reason:)`` with `customEncodingFailed`.
    public func encode(
        _ urlRequest: any URLRequestConvertible, with parameters: Parameters?
    ) throws -> HTTPRequest {
        var request = try urlRequest.asURLRequest()
        guard let parameters else { return request }
        do {
            let encoder = PropertyListEncoder()
            encoder.outputFormat = format
            request.httpBody = try encoder.encode(PropertyListNode(parameters, path: "$"))
        } catch {
            throw SessionError.parameterEncodingFailed(reason: .customEncodingFailed(error: error))
        }
        request.setMissingContentType("application/x-plist")
        return request
    }
}

extension PropertyListEncoding.Error: CustomStringConvertible {
    /// Where, what, and what would do.
    public var description: String {
        switch self {
        case .unsupportedValue(let path, let type):
            "\(path): not a property list: \(type) (use strings, Bool, numbers, Date, Data, arrays and dictionaries)"
        }
    }
}

/// A value of a type known at run time only, as property lists have it.
private enum PropertyListNode: Encodable {
    case scalar(any Encodable)
    case array([PropertyListNode])
    case dictionary([String: PropertyListNode])

    init(_ value: Any, path: String) throws(PropertyListEncoding.Error) {
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
            self = try PropertyListNode(wrapped, path: path)
        case let value as String: self = .scalar(value)
        case let value as Bool: self = .scalar(value)
        case let value as Date: self = .scalar(value)
        case let value as Data: self = .scalar(value)
        case let value as any BinaryInteger & Encodable: self = .scalar(value)
        case let value as any BinaryFloatingPoint & Encodable: self = .scalar(value)
        case let members as [String: Any]:
            var nodes: [String: PropertyListNode] = [:]
            for (name, value) in members {
                nodes[name] = try PropertyListNode(value, path: "\(path).\(name)")
            }
            self = .dictionary(nodes)
        case let elements as [Any]:
            var nodes: [PropertyListNode] = []
            for (index, element) in elements.enumerated() {
                nodes.append(try PropertyListNode(element, path: "\(path)[\(index)]"))
            }
            self = .array(nodes)
        default: throw .unsupportedValue(path: path, type: "\(type(of: value))")
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .scalar(let value):
            // The encoder knows dates and data by the type it is handed, not by their own coding.
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .array(let nodes): try nodes.encode(to: encoder)
        case .dictionary(let nodes): try nodes.encode(to: encoder)
        }
    }
}

extension FoundationScalar {
    /// The same in the standard library's types; `nil` for a null, which property lists have not.
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
