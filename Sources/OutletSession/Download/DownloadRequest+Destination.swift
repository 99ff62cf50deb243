public import FoundationEssentials
import OutletHTTP

extension DownloadRequest {
    /// A destination in one of the user's directories, under the name that the server suggests.
    ///
    /// - Parameters:
    ///   - directory: Which directory, as in the XDG user directories.
    ///   - domain: In which domain it is looked for.
    ///   - options: How the file is put into its place.
    public static func suggestedDownloadDestination(
        for directory: FileManager.SearchPathDirectory = .documentDirectory,
        in domain: FileManager.SearchPathDomainMask = .userDomainMask,
        options: Options = []
    ) -> Destination {
        { temporaryURL, response in
            let directories = FileManager.default.urls(for: directory, in: domain)
            guard let first = directories.first else { return (temporaryURL, options) }
            return (first.appending(path: response.suggestedFilename), options)
        }
    }

    /// A destination in a directory, under the name that the server suggests.
    ///
    /// - Parameters:
    ///   - directory: The directory; no name leads out of it.
    ///   - options: How the file is put into its place.
    public static func suggestedDownloadDestination(
        in directory: URL, options: Options = []
    ) -> Destination {
        { _, response in (directory.appending(path: response.suggestedFilename), options) }
    }
}
