@_exported public import OutletCurl
@_exported public import OutletHTTP
@_exported public import OutletObservation
@_exported public import OutletPluginHost
@_exported public import OutletProvider
@_exported public import OutletReachability
@_exported public import OutletSession
@_exported public import OutletTransport
