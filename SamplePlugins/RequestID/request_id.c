#include <outlet/outlet.h>
